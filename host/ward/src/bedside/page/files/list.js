// The list of waiting patients, and the way from it to an arm.
"use strict";

// ---------------------------------------------------------------- the list

let search = "";
/** The text that is searched for, as the program compares codes: the page folds nothing itself. */
let part = "";

const isClosed = () => Boolean(state.status && state.status.closed);

function listView() {
  const enrol = el(
    "button",
    { class: "first", type: "button", onclick: () => enrolView() },
    "Enrol a patient",
  );
  const why = el("p", { class: "quiet", id: "why" });
  const asked = el("div", {});
  const count = el("h3", { id: "count" });
  const asOf = el("p", { class: "paper" });
  const rows = el("ul", { class: "list", "aria-labelledby": "count" });
  const find = el("input", { type: "search", name: "search", value: search, autocomplete: "off" });
  const fill = () => {
    const why_not = !state.up
      ? "There is no device: nobody can be enrolled before it is back."
      : state.wanted !== null
        ? `Decide about patient ${state.wanted.code} first.`
        : state.unanswered !== null
          ? `Patient ${state.unanswered} has no answer yet: nobody else can be enrolled before.`
          : state.full !== null
            ? `Nobody can be enrolled: ${state.full}.`
            : "";
    enrol.disabled = why_not !== "" || !state.status;
    why.textContent = why_not;
    asked.replaceChildren(...openEnrolment());
    const shown = state.waiting.filter((patient) => patient.folded.includes(part));
    const of =
      part === "" ? `${state.waiting.length}` : `${shown.length} of ${state.waiting.length}`;
    const overdue = isClosed() ? 0 : state.waiting.filter(isOverdue).length;
    count.textContent = isClosed()
      ? `Without an outcome at the close, counted as lost: ${of}`
      : `Outcomes waiting: ${of}${overdue ? `, ${overdue} overdue` : ""}`;
    asOf.textContent = `As of ${when(now())}`;
    fillRows(rows, shown);
  };
  find.oninput = async () => {
    search = find.value;
    const typed = search;
    const answer = await send({ order: "fold", code: typed });
    // A later key asks again.
    if (search !== typed || answer.folded === undefined) return;
    part = answer.folded;
    onState();
  };
  draw("Bedside", [
    asked,
    el(
      "div",
      { class: "buttons menu" },
      enrol,
      el("button", { type: "button", onclick: () => findView() }, "Find a patient"),
      el("button", { type: "button", onclick: reportView }, "Report"),
    ),
    why,
    count,
    asOf,
    field("Search by part of a code", find),
    rows,
    el(
      "div",
      { class: "buttons" },
      el("button", { type: "button", onclick: saveList }, "Save the list (CSV)"),
    ),
  ]);
  fill();
  onState = fill;
  printable();
}

/** Everybody who was enrolled, as a file of the browser. */
async function saveList() {
  const answer = await send({ order: "list" });
  if (answer.failed) say(answer.failed, true);
  if (!answer.csv) return;
  const file = URL.createObjectURL(new Blob([answer.csv], { type: "text/csv" }));
  el("a", {
    href: file,
    download: `enrolments-${new Date(now()).toISOString().slice(0, 10)}.csv`,
  }).click();
  setTimeout(() => URL.revokeObjectURL(file), 60_000);
}

/** Rows that stay keep their elements, so that the focus stays too. */
function fillRows(rows, shown) {
  const old = new Map(Array.from(rows.children, (row) => [row.dataset.number, row]));
  rows.replaceChildren(
    ...shown.map((patient) => {
      const row = old.get(String(patient.number)) || rowOf(patient);
      const closed = isClosed();
      const left = closed ? null : due(patient);
      row.querySelector(".outcome").hidden = closed;
      row
        .querySelector(".what")
        .replaceChildren(
          `number ${patient.number}, ${patient.kind}${closed ? "" : `, ${age(patient)}`}`,
          ...(left ? [", ", left] : []),
        );
      return row;
    }),
  );
  if (shown.length === 0) {
    const none =
      state.waiting.length === 0
        ? isClosed()
          ? "Everybody had an outcome or was lost before."
          : "Nobody is waiting for an outcome."
        : "No waiting patient has this in the code.";
    rows.replaceChildren(el("li", {}, none));
  }
}

function rowOf(patient) {
  const row = el(
    "li",
    {},
    el(
      "button",
      {
        class: "plain who",
        type: "button",
        onclick: async () => {
          const why = await patientView(patient.code);
          if (why) say(why, true);
        },
      },
      patient.code,
    ),
    el(
      "button",
      {
        class: "outcome",
        type: "button",
        "aria-label": `Outcome of patient ${patient.code}`,
        onclick: () => outcomeView(patient),
      },
      "Outcome",
    ),
    el("p", { class: "what" }),
  );
  row.dataset.number = String(patient.number);
  return row;
}

/** An enrolment without an answer, or one that an earlier run of the program left. */
function openEnrolment() {
  if (state.unanswered !== null) {
    return [
      el(
        "p",
        { class: "alarm" },
        `Patient ${state.unanswered} is confirmed, and the device has not given the arm yet. ` +
          "It is asked until it answers, and never assigns twice.",
      ),
    ];
  }
  if (state.wanted === null) return [];
  const { code, levels, kind } = state.wanted;
  const drop = async (event) => {
    event.target.disabled = true;
    await send({ order: "drop", code });
  };
  return [
    el(
      "div",
      { class: "alarm" },
      el(
        "p",
        {},
        `Patient ${code}, ${kind}, was confirmed, ` +
          "but the program ended before it asked the device.",
      ),
      el(
        "div",
        { class: "buttons" },
        el(
          "button",
          { type: "button", onclick: () => sureEnrolView(code, levels, home) },
          `Enrol ${code} now`,
        ),
        el("button", { type: "button", onclick: drop }, `Do not enrol ${code}`),
      ),
    ),
  ];
}

// Ages grow without news.
setInterval(() => {
  if (state) onState();
}, 30_000);

// ---------------------------------------------------------------- enrol

const kindOf = (levels) =>
  state.factors.map((factor, place) => factor.levels[levels[place]]).join(", ");

function enrolView(code = "", known = []) {
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
    if (!answer.ended) sureEnrolView(answer.code, levels);
    return "";
  };
  show("Enrol a patient", form(next, "Next", [field("Patient code", input, hint), kinds]));
  input.focus();
}

function sureEnrolView(code, levels, where = () => enrolView(code, levels)) {
  // One name for this confirmation, however often its button is pressed.
  const name = newForm();
  const enrol = async () => {
    await asking(
      `${state.blinded ? "a kit for" : "the arm of"} patient ${code}`,
      { order: "enrol", code, levels },
      name,
      true,
      code,
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
    form(enrol, `Enrol ${code}`, [], where),
  );
}

/** Asks the device, and shows the answer if the person still waits for it. */
async function asking(what, ask, name, enrolment, code) {
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
  answer = await send(ask, name);
  // The log could not be written, for example: the enrolment is still open and goes on.
  while (enrolment && answer.failed && state.unanswered === code && view === shown) {
    await new Promise((wake) => {
      onState = () => {
        hint();
        if (state.unanswered !== code) wake();
      };
      hint();
    });
    answer = await send(ask, name);
  }
  // Who went on sees it in the message of the page.
  if (answer.ended || view !== shown) return;
  if (answer.failed) failView(answer.failed);
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
  show(
    `Patient ${patient.code}, number ${patient.number}`,
    armSign(patient.arm, false),
    el("p", {}, `${patient.kind}. Enrolled ${when(patient.since)} by ${patient.operator}.`),
    el(
      "div",
      { class: "buttons" },
      el("button", { class: "first", type: "button", onclick: home }, "I have read it"),
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
