// From a code to an arm: the form, the confirmation, the wait for the device, and the slip.
"use strict";

const kindOf = (levels) =>
  state.factors.map((factor, place) => factor.levels[levels[place]]).join(", ");

function enrolView(code = "", known = [], answers = []) {
  const levelsOf = (made) => state.factors.map((_, place) => chosen(made, `level${place}`));
  const input = el("input", {
    type: "text",
    name: "code",
    value: code,
    autocapitalize: "off",
    spellcheck: false,
  });
  const kinds = state.factors.map((factor, place) =>
    choices(
      `level${place}`,
      factor.name === "" ? "Kind of patient" : factor.name,
      factor.levels,
      known[place],
    ),
  );
  const next = async (made) => {
    const levels = levelsOf(made);
    if (input.value.trim() === "") return { field: input, words: "Type the code first." };
    if (levels.includes(null)) return "Choose the kind of patient first.";
    const answer = await send({ order: "check", code: input.value, levels });
    if (answer.failed) return { field: input, words: refused(answer) };
    if (!answer.ended) sureEnrolView(answer.code, levels, answers);
    return "";
  };
  show(
    "Enrol a patient",
    el("p", { class: "quiet" }, `${state.direction}.`),
    form(
      next,
      "Next",
      [field("Patient code", input, state.hint), kinds],
      answers.length > 0
        ? () => eligibleView(answers, input.value, levelsOf(byId("main").querySelector("form")))
        : home,
    ),
  );
  input.focus();
}

/** Why a code cannot be enrolled; one that is a patient's leads to the patient. */
function refused({ failed, known }) {
  const words = sentence(failed);
  if (known === undefined) return words;
  const look = el(
    "button",
    { class: "plain", type: "button", onclick: () => patientView(known) },
    `Show patient ${known}`,
  );
  return el("span", {}, words, " ", look);
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
  if (answer.failed && view !== shown && isOpen()) say(sentence(answer.failed), true);
  if (answer.ended || view !== shown) return;
  if (answer.failed) failView(answer.failed);
  else if (answer.doubt) doubt(answer.doubt);
  else if (answer.done === "enrolled") armView(answer.patient);
  else home();
}

function failView(why) {
  show(
    "Not done",
    el("p", { class: "alarm" }, sentence(why)),
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
    ...(state.practice ? [el("p", { class: "practice" }, "PRACTICE: not for a patient")] : []),
    el("h2", {}, state.title),
    armSign(patient.arm, false),
    facts([
      ...(state.blinded ? [["Kit", patient.arm.name]] : []),
      ["Patient", patient.code],
      ["Number", String(patient.number)],
      ["Kind", patient.kind],
      ["Enrolled", utc(patient.since)],
      ["Operator", patient.operator],
      ["Trial", state.id || "not known"],
    ]),
    el("p", { class: "signature" }, "Signature"),
    el("p", { class: "direction" }, `About the whole trial: ${state.direction}.`),
  );
}

const facts = (pairs) =>
  el(
    "dl",
    {},
    pairs.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
