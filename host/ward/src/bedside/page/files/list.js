// The list of waiting patients, and what stands in the way of the next one.
"use strict";

// ---------------------------------------------------------------- the list

let search = "";
/** The text that is searched for, as the program compares codes: the page folds nothing itself. */
let part = "";

const isClosed = () => Boolean(state.status && state.status.closed);

function listView() {
  if (!isOpen()) {
    signView();
    return;
  }
  const enrol = el(
    "button",
    {
      class: "first",
      type: "button",
      onclick: () => (state.eligibility.length > 0 ? eligibleView() : enrolView()),
    },
    "Enrol a patient",
  );
  const report = el("button", { type: "button", onclick: reportView }, "Report");
  const why = el("p", { class: "quiet", id: "why" });
  const asked = el("div", {});
  const count = el("h3", { id: "count" });
  const asOf = el("p", { class: "paper" });
  const rows = el("ul", { class: "list", "aria-labelledby": "count" });
  const find = el("input", { type: "search", name: "search", value: search, autocomplete: "off" });
  const fill = () => {
    const why_not = !state.up
      ? {
          looking: "The device is being looked for.",
          silent: "The device does not answer: nobody can be enrolled before it does.",
          down: "There is no device: nobody can be enrolled before it is back.",
          unfit: `Nobody can be enrolled: ${state.device}.`,
        }[state.link]
      : state.wanted !== null
        ? `Decide about patient ${state.wanted.code} first.`
        : state.unanswered !== null
          ? `Patient ${state.unanswered} has no answer yet: nobody else can be enrolled before.`
          : state.full !== null
            ? `Nobody can be enrolled: ${state.full}.`
            : state.gap !== null
              ? "Nobody can be enrolled before the log accounts for every patient of the device."
              : "";
    enrol.disabled = why_not !== "" || !state.status;
    why.textContent = why_not;
    report.hidden = !state.status || !state.status.results;
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
      report,
      el("button", { type: "button", onclick: progressView }, "Progress"),
    ),
    why,
    el("div", { class: "bar" }, count, field("Search by part of a code", find)),
    asOf,
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
          ...(patient.marks ? [el("strong", {}, patient.marks), ", "] : []),
          `number ${patient.number}, ${patient.kind}, enrolled by ${patient.operator}` +
            (closed ? "" : `, ${age(patient)}`),
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
          : state.gap !== null
            ? "Of the patients that this log knows, nobody is waiting for an outcome."
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
  if (state.gap !== null) {
    const { gap } = state;
    return [
      el(
        "div",
        { class: "alarm" },
        el("p", {}, `${gap}.`),
        el(
          "div",
          { class: "buttons" },
          el(
            "button",
            { type: "button", onclick: () => sureElsewhereView(gap) },
            "The records are elsewhere",
          ),
        ),
      ),
    ];
  }
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
          { type: "button", onclick: () => sureEnrolView(code, levels, [], home) },
          `Enrol ${code} now`,
        ),
        el("button", { type: "button", onclick: drop }, `Do not enrol ${code}`),
      ),
    ),
  ];
}

/** A person confirms that the records of patients whom the log does not know are elsewhere. */
function sureElsewhereView(gap) {
  const name = newForm();
  const confirm = async () => {
    const answer = await send({ order: "elsewhere", gap }, name);
    if (answer.done) home();
    return answer.failed || "";
  };
  show(
    "Are the records elsewhere?",
    el("p", { class: "sure" }, `${gap}.`),
    el(
      "p",
      {},
      "If this log is old or a copy, end the program and name the right one with --log: " +
        "a patient of another log could be enrolled a second time. " +
        "The log keeps who confirmed this.",
    ),
    form(confirm, "Confirm: they are elsewhere", [], home, "right"),
  );
}

// Ages grow without news.
setInterval(() => {
  if (state) onState();
}, 30_000);
