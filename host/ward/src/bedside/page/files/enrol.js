// From a code to an arm: the form, the confirmation, the wait for the device, and the slip.
"use strict";

const kindOf = (levels) =>
  state.factors.map((factor, place) => factor.levels[levels[place]]).join(", ");

function enrolView(code = "", known = [], answers = []) {
  const input = el("input", {
    type: "text",
    name: "code",
    value: code,
    autocapitalize: "off",
    spellcheck: false,
  });
  const hint = state.pattern
    ? `As in the ward's list: ${state.pattern}`
    : `${state.unicode ? "Letters" : "Letters A to Z"}, digits, - _ . or /, as in the ward's list.`;
  const kinds = state.factors.map((factor, place) =>
    choices(
      `level${place}`,
      factor.name === "" ? "Kind of patient" : factor.name,
      factor.levels,
      known[place],
    ),
  );
  const next = async (made) => {
    const levels = state.factors.map((_, place) => chosen(made, `level${place}`));
    if (input.value.trim() === "") return "Type the code first.";
    if (levels.includes(null)) return "Choose the kind of patient first.";
    const answer = await send({ order: "check", code: input.value });
    if (answer.failed) return answer.failed;
    if (!answer.ended) sureEnrolView(answer.code, levels, answers);
    return "";
  };
  show(
    "Enrol a patient",
    form(
      next,
      "Next",
      [field("Patient code", input, hint), kinds],
      answers.length > 0 ? () => eligibleView(answers) : home,
    ),
  );
  input.focus();
}

function sureEnrolView(code, levels, answers, where = () => enrolView(code, levels, answers)) {
  // One name for this confirmation, however often its button is pressed.
  const name = newForm();
  const enrol = async (made) => {
    const signed = await pinOf(made, "enrol");
    if (signed.why) return signed.why;
    await asking(
      `${state.blinded ? "a kit for" : "the arm of"} patient ${code}`,
      { order: "enrol", code, levels, answers },
      name,
      true,
      code,
      signed.pin,
    );
    return "";
  };
  show(
    "Enrol this patient?",
    el("p", { class: "sure" }, `Patient ${code}, ${kindOf(levels)}`),
    el(
      "p",
      {},
      `The device assigns ${state.blinded ? "a kit" : "an arm"} to this patient. ` +
        "An enrolment cannot be taken back.",
    ),
    answers.length > 0
      ? el("p", {}, `All ${answers.length} questions have the answer that allows an enrolment.`)
      : null,
    form(enrol, `Enrol ${code}`, pinField("enrol"), where, "right"),
  );
}

/**
 * Asks the device, and shows the answer if the person still waits for it; a doubt goes to `doubt`.
 */
async function asking(what, ask, name, enrolment, code, pin, doubt = failView) {
  const note = el("p", {});
  const shown = show(
    `Asking the device for ${what} ...`,
    note,
    el("div", { class: "buttons" }, back("To the list")),
  );
  let answer = null;
  const hint = () => {
    note.className = answer && answer.failed ? "bad" : "";
    note.textContent =
      answer && answer.failed
        ? answer.failed
        : state.up
          ? ""
          : enrolment
            ? "The device does not answer. Plug it in again: the same request is sent until it " +
              "answers, and it never assigns twice."
            : "The device does not answer.";
  };
  onState = hint;
  hint();
  answer = await send(ask, name, pin);
  // The log could not be written, for example: the enrolment is still open and goes on.
  while (enrolment && answer.failed && state.unanswered === code && view === shown) {
    await new Promise((wake) => {
      onState = () => {
        hint();
        if (state.unanswered !== code) wake();
      };
      hint();
    });
    answer = await send(ask, name, pin);
  }
  // Who went on sees it in the message of the page.
  if (answer.ended || view !== shown) return;
  if (answer.failed) failView(answer.failed);
  else if (answer.doubt) doubt(answer.doubt);
  else if (answer.done === "enrolled") armView(answer.patient);
  else home();
}

function failView(why) {
  show(
    "Not done",
    el("p", { class: "alarm" }, why),
    el("div", { class: "buttons" }, back("To the list")),
  );
}

function armView(patient) {
  const read = el("button", { class: "first", type: "button", onclick: home }, "I have read it");
  settle(read);
  show(
    `Patient ${patient.code}, number ${patient.number}`,
    armSign(patient.arm, false),
    patient.instead === null
      ? null
      : el("p", { class: "sure" }, `Instead of kit ${patient.instead}, which is not used any more.`),
    el("p", {}, `${patient.kind}. Enrolled ${when(patient.since)} by ${patient.operator}.`),
    el(
      "div",
      { class: "buttons" },
      read,
      printButton(),
    ),
  );
  fillSlip(patient);
}

const printButton = () =>
  el("button", { type: "button", onclick: () => window.print() }, "Print slip");

/** What is on paper: never an outcome, nor whether there is one. */
function fillSlip(patient) {
  byId("slip").replaceChildren(
    el("h2", {}, state.title),
    armSign(patient.arm, false),
    facts([
      ...(state.blinded ? [["Kit", patient.arm.name]] : []),
      ["Patient", patient.code],
      ["Number", String(patient.number)],
      ["Kind", patient.kind],
      ["Enrolled", `${when(patient.since)} (${patient.since})`],
      ["Operator", patient.operator],
    ]),
  );
}

const facts = (pairs) =>
  el(
    "dl",
    {},
    pairs.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
