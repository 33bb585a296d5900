// Views of one patient: outcome or loss, arm and times, notes, another kit; and who works here.
//
// An outcome is held by the form in which it is chosen and goes into the body of one POST, never
// into an address, the history or storage.
"use strict";

// ---------------------------------------------------------------- outcome and loss

function outcomeView(patient) {
  const who = `Patient ${patient.code}, number ${patient.number}`;
  const input = state.labels
    ? choices("outcome", state.question, state.labels)
    : field(
        `${state.question} 0 to ${state.scale}`,
        el("input", { type: "text", name: "outcome", inputMode: "numeric", autocomplete: "off" }),
      );
  const next = (made) => {
    const text = new FormData(made).get("outcome");
    if (text === null || text === "") return "Choose the outcome first.";
    const outcome = Number(text);
    if (!/^[0-9]+$/.test(text) || outcome > state.scale)
      return `The outcome must be a whole number from 0 to ${state.scale}.`;
    sureOutcomeView(patient, outcome);
    return "";
  };
  show(
    `Outcome: ${who}`,
    form(next, "Next", [input]),
    el(
      "p",
      {},
      el(
        "button",
        { class: "plain", type: "button", onclick: () => sureOutcomeView(patient, null) },
        "The outcome will never come",
      ),
    ),
  );
  onState = () => stillWaits(patient);
}

function sureOutcomeView(patient, outcome) {
  const label =
    outcome === null
      ? "LOST"
      : (state.labels ? state.labels[outcome] : String(outcome)).toUpperCase();
  const what = outcome === null ? "the outcome will never come" : `${state.question} ${label}`;
  const name = newForm();
  const record = async () => {
    const ask =
      outcome === null
        ? { order: "lost", patient: patient.number }
        : { order: "outcome", patient: patient.number, outcome };
    await asking(`the record of patient ${patient.code}`, ask, name, false, patient.code);
    return "";
  };
  show(
    "Record this?",
    el("p", { class: "sure" }, `Patient ${patient.code}, number ${patient.number}: ${what}`),
    el("p", {}, "What is recorded cannot be changed, and nothing here keeps a copy."),
    form(record, `Record ${label}`, [], () => outcomeView(patient)),
  );
  onState = () => stillWaits(patient);
}

/** A patient whose outcome came in by another tab needs none any more. */
function stillWaits(patient) {
  if (!state.waiting.some((other) => other.number === patient.number)) {
    failView(
      `The outcome of patient ${patient.code} was recorded meanwhile. Nothing was sent from here.`,
    );
  }
}

// ---------------------------------------------------------------- patients, notes, operator

function findView() {
  const input = el("input", {
    type: "text",
    name: "code",
    autocapitalize: "off",
    spellcheck: false,
  });
  const next = async () => {
    if (input.value.trim() === "") return "Type the code first.";
    return patientView(input.value);
  };
  show(
    "Find a patient",
    form(next, "Show", [field("Patient code", input, "Anybody who was enrolled with this log.")]),
  );
  input.focus();
}

/** Arm, times and notes of a patient; gives what is wrong. */
async function patientView(code) {
  const before = view;
  const answer = await send({ order: "find", code });
  // The person went on meanwhile.
  if (view !== before) return "";
  if (answer.failed) return answer.failed;
  if (answer.ended) return "";
  const patient = answer.patient;
  const open = patient.recorded === null && !isClosed();
  const missing = isClosed() ? "none at the close, counted as lost" : age(patient);
  show(
    `Patient ${patient.code}, number ${patient.number}`,
    armSign(patient.arm, false),
    facts([
      ["Kind", patient.kind],
      ["Enrolled", `${when(patient.since)} by ${patient.operator}`],
      ["Outcome", patient.recorded === null ? missing : `recorded ${when(patient.recorded)}`],
    ]),
    el(
      "div",
      { class: "buttons" },
      open
        ? el(
            "button",
            { class: "first", type: "button", onclick: () => outcomeView(patient) },
            "Outcome",
          )
        : null,
      open
        ? el("button", { type: "button", onclick: () => sureOutcomeView(patient, null) }, "Lost")
        : null,
      open && state.blinded
        ? el("button", { type: "button", onclick: () => sureReplaceView(patient) }, "Another kit")
        : null,
      el("button", { type: "button", onclick: () => noteView(patient) }, "Write a note"),
      printButton(),
      back("To the list"),
    ),
    el("h3", {}, `Notes: ${patient.notes.length}`),
    el(
      "ul",
      { class: "list" },
      patient.notes.map((note) =>
        el(
          "li",
          {},
          el("span", {}, note.text),
          el("span", {}, note.kind),
          el("p", { class: "what" }, `${when(note.time)} by ${note.operator}`),
        ),
      ),
    ),
  );
  fillSlip(patient);
  return "";
}

/** Another kit of the same arm, for one that cannot be used. */
function sureReplaceView(patient) {
  const name = newForm();
  const replace = async () => {
    await asking(
      `another kit for patient ${patient.code}`,
      { order: "replace", patient: patient.number },
      name,
      false,
      patient.code,
    );
    return "";
  };
  show(
    "Give another kit?",
    el("p", { class: "sure" }, `Patient ${patient.code}, instead of kit ${patient.arm.name}`),
    el("p", {}, "For a kit that is damaged or lost. A kit cannot be taken back."),
    form(replace, `Give ${patient.code} another kit`, [], () => patientView(patient.code)),
  );
}

function noteView(patient) {
  const text = el("textarea", { name: "text", rows: 3 });
  const name = newForm();
  const write = async (made) => {
    const kind = chosen(made, "kind");
    if (kind === null) return "Choose what the note is about first.";
    if (text.value.trim() === "") return "Type the note first.";
    const words = text.value.replace(/\s+/g, " ");
    const answer = await send(
      { order: "note", patient: patient.number, kind: state.notes[kind].kind, text: words },
      name,
    );
    return answer.failed || (answer.ended ? "" : patientView(patient.code));
  };
  show(
    `Note on patient ${patient.code}, number ${patient.number}`,
    el("p", {}, "A note stays in the log and changes nothing else. Write no outcome here."),
    form(
      write,
      "Write to the log",
      [
        choices(
          "kind",
          "About",
          state.notes.map((note) => note.name),
        ),
        field("Note", text, "Up to 200 characters."),
      ],
      () => patientView(patient.code),
    ),
  );
}

function operatorView() {
  const input = el("input", { type: "text", name: "name", autocomplete: "off" });
  const name = newForm();
  const change = async () => {
    if (input.value.trim() === "") return "Type a name first.";
    const answer = await send({ order: "operator", name: input.value }, name);
    if (answer.done) home();
    return answer.failed || "";
  };
  show(
    "Operator",
    form(change, "Switch operator", [
      field(
        "Name or initials",
        input,
        `Now: ${state.operator}. The log names the operator in every line.`,
      ),
    ]),
  );
  input.focus();
}
