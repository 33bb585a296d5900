// Views of one patient: outcome or loss, arm and times, notes, another kit; and who works here.
//
// An outcome is held by the form in which it is chosen and goes into the body of one POST, never
// into an address, the history or storage.
"use strict";

// ---------------------------------------------------------------- outcome and loss

function outcomeView(patient, known = null) {
  const who = `Patient ${patient.code}, number ${patient.number}`;
  const input = state.labels
    ? choices("outcome", state.question, state.labels, known)
    : field(
        `${state.question} 0 to ${state.scale}`,
        el("input", {
          type: "text",
          name: "outcome",
          inputMode: "numeric",
          autocomplete: "off",
          value: known === null ? "" : String(known),
        }),
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
      { class: "half" },
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
  const who = el("p", { class: "sure" }, `Patient ${patient.code}, number ${patient.number}: ${what}`);
  const warning = el("p", {}, "What is recorded cannot be changed, and nothing here keeps a copy.");
  const again = () => outcomeView(patient, outcome);
  const order = outcome === null ? { order: "lost" } : { order: "outcome", outcome };
  const record = (name, anyway) => async (made) => {
    const signed = await pinOf(made, "outcome");
    if (signed.why) return signed.why;
    const ask = { ...order, patient: patient.number, ...(anyway ? { anyway } : {}) };
    const words = `the record of patient ${patient.code}`;
    await asking(words, ask, name, false, patient.code, signed.pin, doubtView);
    return "";
  };
  // Asked once more, with the button on the other side.
  const doubtView = (why) => {
    const button = `Record ${label} anyway`;
    show(
      "Record it anyway?",
      el("p", { class: "alarm" }, why),
      who,
      warning,
      form(record(newForm(), true), button, pinField("outcome"), again, "left"),
    );
    onState = () => stillWaits(patient);
  };
  show(
    "Record this?",
    who,
    facts([
      ["Kind", patient.kind],
      ["Enrolled", `${when(patient.since)}, ${span(Math.max(now() - Date.parse(patient.since), 0))} ago`],
      ...(patient.due === null ? [] : [["Outcome due", when(patient.due)]]),
    ]),
    warning,
    form(record(newForm(), false), `Record ${label}`, pinField("outcome"), again, "right"),
  );
  onState = () => stillWaits(patient);
}

/** A patient whose outcome came in by another tab needs none any more. */
function stillWaits(patient) {
  if (!state.waiting.some((other) => other.number === patient.number)) {
    failView(
      `The outcome of patient ${patient.code} was recorded or declared lost meanwhile. ` +
        "Nothing was sent from here.",
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

/** How the wait for an outcome ended, in words; a loss is not called recorded. */
function resolution({ ending, time, operator }) {
  if (ending === "recorded") return `recorded ${when(time)} by ${operator}`;
  if (ending === "lost") return `declared lost ${when(time)} by ${operator}`;
  return `recorded or declared lost before ${when(time)}, as ${operator} was told`;
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
  const open = patient.resolved === null && !isClosed();
  const missing = isClosed() ? "none at the close, counted as lost" : age(patient);
  const kit = ({ label, time, operator, reason }) =>
    `${label}, ${when(time)} by ${operator}${reason === null ? "" : `, because: ${reason}`}`;
  show(
    `Patient ${patient.code}, number ${patient.number}`,
    armSign(patient.arm, false),
    patient.marks ? el("p", { class: "bad" }, patient.marks) : null,
    facts([
      ["Kind", patient.kind],
      ["Enrolled", `${when(patient.since)} by ${patient.operator}`],
      ...patient.kits.map((one, place) => [`Kit ${place + 1}`, kit(one)]),
      ["Outcome", patient.resolved === null ? missing : resolution(patient.resolved)],
    ]),
    el(
      "div",
      // Steps to a confirmation are on the left, where no confirmation has its button.
      { class: "buttons pairs" },
      open
        ? el(
            "button",
            { class: "first", type: "button", onclick: () => outcomeView(patient) },
            "Outcome",
          )
        : null,
      el("button", { type: "button", onclick: () => noteView(patient) }, "Write a note"),
      open
        ? el("button", { type: "button", onclick: () => sureOutcomeView(patient, null) }, "Lost")
        : null,
      printButton(),
      open && state.blinded
        ? el("button", { type: "button", onclick: () => replaceView(patient) }, "Another kit")
        : null,
      state.blinded && state.unblinds
        ? el("button", { type: "button", onclick: () => unblindView(patient) }, "Emergency unblinding")
        : null,
      back("To the list"),
    ),
    el("h3", {}, `Notes: ${patient.notes.length}`),
    el(
      "ul",
      { class: "list" },
      patient.notes.map((note) =>
        el(
          "li",
          { class: "note" },
          el("span", {}, note.text),
          el("span", {}, note.should_be ? `${note.kind}, should be ${note.should_be}` : note.kind),
          el("p", { class: "what" }, `${when(note.time)} by ${note.operator}`),
        ),
      ),
    ),
  );
  fillSlip(patient);
  return "";
}

/** Another kit of the same arm, for one that cannot be used. */
function replaceView(patient, known = "") {
  const input = el("input", { type: "text", name: "reason", value: known, maxLength: 200 });
  const next = () => {
    if (input.value.trim() === "") return "Type why the kit cannot be used first.";
    sureReplaceView(patient, input.value.trim());
    return "";
  };
  show(
    `Another kit: patient ${patient.code}, number ${patient.number}`,
    el("p", {}, `Instead of kit ${patient.arm.name}.`),
    form(
      next,
      "Next",
      [
        field(
          "Why can the kit not be used?",
          input,
          "As: damaged, lost, expired, not kept cold. It stays in the log.",
        ),
      ],
      () => patientView(patient.code),
    ),
  );
  input.focus();
}

function sureReplaceView(patient, reason) {
  const name = newForm();
  const replace = async (made) => {
    const signed = await pinOf(made, "enrol");
    if (signed.why) return signed.why;
    await asking(
      `another kit for patient ${patient.code}`,
      { order: "replace", patient: patient.number, reason },
      name,
      false,
      patient.code,
      signed.pin,
    );
    return "";
  };
  show(
    "Give another kit?",
    el("p", { class: "sure" }, `Patient ${patient.code}, instead of kit ${patient.arm.name}`),
    el("p", {}, `Reason: ${reason}. A kit cannot be taken back.`),
    form(
      replace,
      `Give ${patient.code} another kit`,
      pinField("enrol"),
      () => replaceView(patient, reason),
      "right",
    ),
  );
}

function noteView(patient) {
  const text = el("textarea", { name: "text", rows: 3 });
  const name = newForm();
  const isWrongKind = (made) => {
    const kind = chosen(made, "kind");
    return kind !== null && state.notes[kind].kind === "wrong-kind";
  };
  const write = async (made) => {
    const kind = chosen(made, "kind");
    if (kind === null) return "Choose what the note is about first.";
    const levels = state.factors.map((_, place) => chosen(made, `level${place}`));
    if (isWrongKind(made) && levels.includes(null))
      return "Choose the kind of patient that would have been right first.";
    if (text.value.trim() === "") return "Type the note first.";
    const words = text.value.replace(/\s+/g, " ");
    const ask = { order: "note", patient: patient.number, kind: state.notes[kind].kind, text: words };
    const answer = await send(isWrongKind(made) ? { ...ask, should_be: levels } : ask, name);
    return answer.failed || (answer.ended ? "" : patientView(patient.code));
  };
  const right = el(
    "div",
    { hidden: true },
    state.factors.map((factor, place) =>
      choices(`level${place}`, `Should be${factor.name ? `: ${factor.name}` : ""}`, factor.levels),
    ),
  );
  show(
    `Note on patient ${patient.code}, number ${patient.number}`,
    el(
      "p",
      {},
      "A note stays in the log; the device does not learn of it. Write no outcome here.",
    ),
    form(
      write,
      "Write to the log",
      [
        choices(
          "kind",
          "About",
          state.notes.map((note) => note.name),
        ),
        right,
        field("Note", text, "Up to 200 characters."),
      ],
      () => patientView(patient.code),
    ),
  );
  const made = byId("main").querySelector("form");
  made.addEventListener("change", () => {
    right.hidden = !isWrongKind(made);
  });
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
