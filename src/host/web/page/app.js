// The bedside page: what the program tells is shown, what a person does is sent as an order.
//
// Text reaches the page as text only: elements are made by `el`, never from markup. An outcome is
// held by the form in which it is chosen and goes into the body of one POST, never into an address,
// the history or storage.
"use strict";

const byId = (id) => document.getElementById(id);

/** An element with properties and children; a text child stays text. */
function el(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name === "class") node.className = value;
    else if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

// ---------------------------------------------------------------- what the program tells

/** The last state told; none before the first. */
let state = null;
/** The program's clock minus this machine's view of it, in milliseconds. */
let ahead = 0;
/** How the view in `main` takes a new state. */
let onState = () => {};

let events = null;
let lastHeard = 0;
let listeners = [];
const SILENCE = 30_000;

function listen() {
  if (events || document.hidden) return;
  events = new EventSource("events");
  lastHeard = Date.now();
  const heard = (now) => {
    lastHeard = Date.now();
    ahead = Date.parse(now) - lastHeard;
    byId("lost").hidden = true;
    for (const wake of listeners.splice(0)) wake();
  };
  events.addEventListener("state", (event) => {
    const told = JSON.parse(event.data);
    state = told.state;
    heard(told.now);
    showTop();
    onState();
  });
  events.addEventListener("beat", (event) => heard(event.data));
  events.onerror = () => {
    lost();
    // A refusal ends the source for good: the program was started again, with another key.
    if (events && events.readyState === EventSource.CLOSED) ended();
  };
}

function deaf() {
  if (events) events.close();
  events = null;
}

/** Resolves when the program is heard again. */
const heardAgain = () => new Promise((wake) => listeners.push(wake));

function lost() {
  const note = byId("lost");
  note.textContent = "This page has lost the program: what it shows may be old. It goes on by itself when the program answers.";
  note.hidden = false;
}

function ended() {
  deaf();
  const note = byId("lost");
  note.textContent = "This page is over: the program was ended or started again. Open the address that the program printed last.";
  note.hidden = false;
  byId("main").replaceChildren();
  byId("slip").replaceChildren();
  onState = () => {};
}

// A hidden tab holds no connection, because a browser allows few to one server; it catches up when
// it is seen again.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) deaf();
  else listen();
});

setInterval(() => {
  if (events && Date.now() - lastHeard > SILENCE) {
    // Half a connection, as after a night asleep: begin a new one.
    lost();
    deaf();
    listen();
  }
}, 5_000);

// ---------------------------------------------------------------- orders

/** The random name of a form: an order sent again under it is carried out once. */
function newForm() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Sends an order until it is answered. */
async function send(ask, form = newForm()) {
  for (;;) {
    try {
      const response = await fetch("order", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ form, ask }),
        cache: "no-store",
      });
      if (response.ok) return await response.json();
      if (response.status === 403) {
        ended();
        return { ended: true };
      }
      return { failed: await response.text() };
    } catch {
      lost();
      await heardAgain();
    }
  }
}

// ---------------------------------------------------------------- words

const now = () => Date.now() + ahead;

function span(milliseconds) {
  const minutes = Math.floor(milliseconds / 60_000);
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60) % 24];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

/** How long a patient has waited; a clock that was set back is said to be. */
function age(patient) {
  const waited = now() - Date.parse(patient.since);
  if (waited < -60_000) return "enrolled later than this machine's clock says: was it set back?";
  return `waiting ${span(Math.max(waited, 0))}`;
}

const isOverdue = (patient) => patient.due !== null && Date.parse(patient.due) < now();

function due(patient) {
  if (patient.due === null) return null;
  const left = Date.parse(patient.due) - now();
  const text = left < 0 ? `OVERDUE by ${span(-left)}` : `due in ${span(left)}`;
  return el("span", { class: left < 0 ? "overdue" : "" }, text);
}

const when = (time) => new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

const folded = (code) => code.trim().toUpperCase().toLowerCase();

/** The only place where an arm, or a kit, is drawn: its name, a colour and a shape; one shape for all kits. */
function armSign(arm, small) {
  const shape = ["●", "■", "◇"][arm.sign];
  const long = arm.name.length > 16 ? " long" : "";
  return el("p", { class: `arm sign${arm.sign}${long}${small ? " small" : ""}` },
    el("span", { class: "shape", "aria-hidden": "true" }, shape),
    el("span", { class: "name" }, arm.name));
}

// ---------------------------------------------------------------- the frame

function showTop() {
  document.title = `${state.title}: equipoise`;
  byId("title").textContent = state.title;
  byId("operator").replaceChildren(
    el("span", { class: "quiet" }, `Operator ${state.operator} `),
    el("button", { class: "plain", type: "button", onclick: operatorView }, "change"));
  const device = byId("device");
  const words = state.up ? `✓ Connected: ${state.device}`
    : state.looking ? state.device : `✗ NO DEVICE. ${state.device}`;
  if (device.textContent !== words) device.textContent = words;
  device.className = state.up ? "good" : state.looking ? "quiet" : "bad";
  const status = state.status;
  byId("progress").replaceChildren(...(status ? [
    el("progress", { max: status.patients, value: status.assigned, "aria-label": "Patients enrolled" }),
    el("p", { class: "quiet" },
      `${state.up ? "" : "As last heard: "}Patients ${status.assigned} of ${status.patients}. Phase: ${status.phase}, ${status.look}.`),
  ] : [el("p", { class: "quiet" }, "The device has not told its state yet.")]));
  say(state.message.text, state.message.error);
}

let said = "";

/** The last thing that happened, told once. */
function say(text, error) {
  const message = byId("message");
  message.className = error ? "bad" : "";
  if (said !== text) message.textContent = text;
  said = text;
}

/** Whether a history entry stands for the view, so that Back leads to the list. */
let away = false;
let view = 0;

/** Shows a view; its heading gets the focus. Gives its number, to see whether it is still shown. */
function show(title, ...parts) {
  if (!away) {
    history.pushState({ away: true }, "");
    away = true;
  }
  return draw(title, parts);
}

function draw(title, parts) {
  onState = () => {};
  byId("slip").replaceChildren();
  const heading = el("h2", { tabIndex: -1 }, title);
  byId("main").replaceChildren(heading, ...parts.flat().filter((part) => part));
  document.body.classList.toggle("away", away);
  window.scrollTo(0, 0);
  heading.focus();
  view += 1;
  return view;
}

/** Back to the list, as the browser's own button does. */
function home() {
  if (away) history.back();
  else listView();
}

window.addEventListener("popstate", (event) => {
  away = Boolean(event.state && event.state.away);
  if (state) listView();
});

// Nothing that was typed or chosen outlives the page.
window.addEventListener("pagehide", () => byId("main").replaceChildren());
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && away) home();
});

const back = (text = "Back") => el("button", { type: "button", onclick: home }, text);

/** A form whose button can be pressed once. */
function form(action, name, ...fields) {
  const button = el("button", { class: "first", type: "submit" }, name);
  const note = el("p", { class: "bad", role: "alert" });
  const made = el("form", { autocomplete: "off", noValidate: true }, ...fields, note,
    el("div", { class: "buttons" }, button, back()));
  made.oninput = () => {
    note.textContent = "";
  };
  made.onsubmit = async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    note.textContent = "";
    const why = await action(made);
    if (why) note.textContent = why;
    button.disabled = false;
  };
  return made;
}

function field(label, input, hint) {
  input.id = `field-${input.name}`;
  if (hint) input.setAttribute("aria-describedby", `${input.id}-hint`);
  return el("div", { class: "field" }, el("label", { htmlFor: input.id }, label), input,
    hint ? el("div", { class: "quiet", id: `${input.id}-hint` }, hint) : null);
}

function choices(name, question, texts) {
  return el("fieldset", {}, el("legend", {}, question), texts.map((text, place) =>
    el("label", { class: "choice" }, el("input", { type: "radio", name, value: String(place) }), text)));
}

function chosen(made, name) {
  const value = new FormData(made).get(name);
  return value === null ? null : Number(value);
}

// ---------------------------------------------------------------- the list

let search = "";

function listView() {
  const enrol = el("button", { class: "first", type: "button", onclick: () => enrolView() }, "Enrol a patient");
  const why = el("p", { class: "quiet", id: "why" });
  const asked = el("div", {});
  const count = el("h3", { id: "count" });
  const rows = el("ul", { class: "list", "aria-labelledby": "count" });
  const find = el("input", { type: "search", name: "search", value: search, autocomplete: "off" });
  const fill = () => {
    const why_not = !state.up ? "There is no device: nobody can be enrolled before it is back."
      : state.unanswered !== null ? `Patient ${state.unanswered} has no answer yet: nobody else can be enrolled before.`
        : state.full !== null ? `Nobody can be enrolled: ${state.full}.` : "";
    enrol.disabled = why_not !== "" || !state.status;
    why.textContent = why_not;
    asked.replaceChildren(...openEnrolment());
    const part = folded(search);
    const shown = state.waiting.filter((patient) => folded(patient.code).includes(part));
    const of = part === "" ? `${state.waiting.length}` : `${shown.length} of ${state.waiting.length}`;
    const overdue = state.waiting.filter(isOverdue).length;
    count.textContent = `Outcomes waiting: ${of}${overdue ? `, ${overdue} overdue` : ""}`;
    fillRows(rows, shown);
  };
  find.oninput = () => {
    search = find.value;
    fill();
  };
  draw("Bedside", [asked,
    el("div", { class: "buttons menu" }, enrol,
      el("button", { type: "button", onclick: () => findView() }, "Find a patient"),
      el("button", { type: "button", onclick: reportView }, "Report")),
    why, count, field("Search by part of a code", find), rows]);
  fill();
  onState = fill;
}

/** Rows that stay keep their elements, so that the focus stays too. */
function fillRows(rows, shown) {
  const old = new Map(Array.from(rows.children, (row) => [row.dataset.number, row]));
  rows.replaceChildren(...shown.map((patient) => {
    const row = old.get(String(patient.number)) || rowOf(patient);
    const left = due(patient);
    row.querySelector(".what").replaceChildren(
      `number ${patient.number}, ${patient.kind}, ${age(patient)}`, ...(left ? [", ", left] : []));
    return row;
  }));
  if (shown.length === 0) {
    const none = state.waiting.length === 0 ? "Nobody is waiting for an outcome." : "No waiting patient has this in the code.";
    rows.replaceChildren(el("li", {}, none));
  }
}

function rowOf(patient) {
  const row = el("li", {},
    el("button", { class: "plain who", type: "button", onclick: () => patientView(patient.code) }, patient.code),
    el("button", { type: "button", "aria-label": `Outcome of patient ${patient.code}`, onclick: () => outcomeView(patient) }, "Outcome"),
    el("p", { class: "what" }));
  row.dataset.number = String(patient.number);
  return row;
}

/** An enrolment without an answer, or one that an earlier run of the program left. */
function openEnrolment() {
  if (state.unanswered !== null) {
    return [el("p", { class: "alarm" }, `Patient ${state.unanswered} is confirmed, and the device has not given the arm yet. `
      + "It is asked until it answers, and never assigns twice.")];
  }
  if (state.wanted === null) return [];
  const { code, levels, kind } = state.wanted;
  const drop = async (event) => {
    event.target.disabled = true;
    await send({ order: "drop", code });
  };
  return [el("div", { class: "alarm" },
    el("p", {}, `Patient ${code}, ${kind}, was confirmed, but the program ended before it asked the device.`),
    el("div", { class: "buttons" },
      el("button", { type: "button", onclick: () => sureEnrolView(code, levels) }, `Enrol ${code} now`),
      el("button", { type: "button", onclick: drop }, `Do not enrol ${code}`)))];
}

// Ages grow without news.
setInterval(() => {
  if (state) onState();
}, 30_000);

// ---------------------------------------------------------------- enrol

const kindOf = (levels) => state.factors.map((factor, place) => factor.levels[levels[place]]).join(", ");

function enrolView(code = "") {
  const input = el("input", { type: "text", name: "code", maxLength: 24, value: code, autocapitalize: "off", spellcheck: false });
  const hint = state.pattern ? `As in the ward's list: ${state.pattern}` : "Letters, digits, - _ . or /, as in the ward's list.";
  const kinds = state.factors.map((factor, place) =>
    choices(`level${place}`, factor.name === "" ? "Kind of patient" : factor.name, factor.levels));
  const next = async (made) => {
    const levels = state.factors.map((_, place) => chosen(made, `level${place}`));
    if (input.value.trim() === "") return "Type the code first.";
    if (levels.includes(null)) return "Choose the kind of patient first.";
    const answer = await send({ order: "check", code: input.value });
    if (answer.failed) return answer.failed;
    if (!answer.ended) sureEnrolView(answer.code, levels);
    return "";
  };
  show("Enrol a patient", form(next, "Next", field("Patient code", input, hint), kinds));
  input.focus();
}

function sureEnrolView(code, levels) {
  // One name for this confirmation, however often its button is pressed.
  const name = newForm();
  const enrol = async () => {
    await asking(`${state.blinded ? "a kit for" : "the arm of"} patient ${code}`, { order: "enrol", code, levels }, name, true, code);
    return "";
  };
  show("Enrol this patient?",
    el("p", { class: "sure" }, `Patient ${code}, ${kindOf(levels)}`),
    el("p", {}, `The device assigns ${state.blinded ? "a kit" : "an arm"} to this patient. An enrolment cannot be taken back.`),
    form(enrol, `Enrol ${code}`));
}

/** Asks the device, and shows the answer if the person still waits for it. */
async function asking(what, ask, name, enrolment, code) {
  const note = el("p", {});
  const shown = show(`Asking the device for ${what} ...`, note, el("div", { class: "buttons" }, back("To the list")));
  let answer = null;
  const hint = () => {
    note.className = answer && answer.failed ? "bad" : "";
    note.textContent = answer && answer.failed ? answer.failed : state.up ? "" : enrolment
      ? "The device does not answer. Plug it in again: the same request is sent until it answers, and it never assigns twice."
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
  if (answer.ended || view !== shown) return;
  if (answer.failed) failView(answer.failed);
  else if (answer.done === "enrolled") armView(answer.patient);
  else home();
}

function failView(why) {
  show("Not done", el("p", { class: "alarm" }, why), el("div", { class: "buttons" }, back("To the list")));
}

function armView(patient) {
  show(`Patient ${patient.code}, number ${patient.number}`, armSign(patient.arm, false),
    el("p", {}, `${patient.kind}. Enrolled ${when(patient.since)} by ${patient.operator}.`),
    el("div", { class: "buttons" },
      el("button", { class: "first", type: "button", onclick: home }, "I have read it"), printButton()));
  fillSlip(patient);
}

const printButton = () => el("button", { type: "button", onclick: () => window.print() }, "Print slip");

/** What is on paper: never an outcome, nor whether there is one. */
function fillSlip(patient) {
  byId("slip").replaceChildren(
    el("h2", {}, state.title), armSign(patient.arm, false),
    facts([...(state.blinded ? [["Kit", patient.arm.name]] : []), ["Patient", patient.code], ["Number", String(patient.number)], ["Kind", patient.kind],
      ["Enrolled", `${when(patient.since)} (${patient.since})`], ["Operator", patient.operator]]));
}

const facts = (pairs) => el("dl", {}, pairs.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));

// ---------------------------------------------------------------- outcome and loss

function outcomeView(patient) {
  const who = `Patient ${patient.code}, number ${patient.number}`;
  const input = state.labels
    ? choices("outcome", state.question, state.labels)
    : field(`${state.question} 0 to ${state.scale}`,
      el("input", { type: "text", name: "outcome", inputMode: "numeric", maxLength: 5, autocomplete: "off" }));
  const next = (made) => {
    const text = new FormData(made).get("outcome");
    if (text === null || text === "") return "Choose the outcome first.";
    const outcome = Number(text);
    if (!/^[0-9]+$/.test(text) || outcome > state.scale) return `The outcome must be a whole number from 0 to ${state.scale}.`;
    sureOutcomeView(patient, outcome);
    return "";
  };
  show(`Outcome: ${who}`, form(next, "Next", input),
    el("p", {}, el("button", { class: "plain", type: "button", onclick: () => sureOutcomeView(patient, null) },
      "The outcome will never come")));
  onState = () => stillWaits(patient);
}

function sureOutcomeView(patient, outcome) {
  const label = outcome === null ? "LOST" : (state.labels ? state.labels[outcome] : String(outcome)).toUpperCase();
  const what = outcome === null ? "the outcome will never come" : `${state.question} ${label}`;
  const name = newForm();
  const record = async () => {
    const ask = outcome === null ? { order: "lost", patient: patient.number }
      : { order: "outcome", patient: patient.number, outcome };
    await asking(`the record of patient ${patient.code}`, ask, name, false, patient.code);
    return "";
  };
  show("Record this?",
    el("p", { class: "sure" }, `Patient ${patient.code}, number ${patient.number}: ${what}`),
    el("p", {}, "What is recorded cannot be changed, and nothing here keeps a copy."),
    form(record, `Record ${label}`));
  onState = () => stillWaits(patient);
}

/** A patient whose outcome came in by another tab needs none any more. */
function stillWaits(patient) {
  if (!state.waiting.some((other) => other.number === patient.number)) {
    failView(`The outcome of patient ${patient.code} was recorded meanwhile. Nothing was sent from here.`);
  }
}

// ---------------------------------------------------------------- patients, notes, operator, report

function findView() {
  const input = el("input", { type: "text", name: "code", maxLength: 24, autocapitalize: "off", spellcheck: false });
  const next = async () => {
    if (input.value.trim() === "") return "Type the code first.";
    return patientView(input.value);
  };
  show("Find a patient", form(next, "Show", field("Patient code", input, "Anybody who was enrolled with this log.")));
  input.focus();
}

/** Arm, times and notes of a patient; gives what is wrong. */
async function patientView(code) {
  const answer = await send({ order: "find", code });
  if (answer.failed) {
    say(answer.failed, true);
    return answer.failed;
  }
  if (answer.ended) return "";
  const patient = answer.patient;
  const open = patient.recorded === null;
  show(`Patient ${patient.code}, number ${patient.number}`, armSign(patient.arm, false),
    facts([["Kind", patient.kind], ["Enrolled", `${when(patient.since)} by ${patient.operator}`],
      ["Outcome", open ? age(patient) : `recorded ${when(patient.recorded)}`]]),
    el("div", { class: "buttons" },
      open ? el("button", { class: "first", type: "button", onclick: () => outcomeView(patient) }, "Outcome") : null,
      open ? el("button", { type: "button", onclick: () => sureOutcomeView(patient, null) }, "Lost") : null,
      open && state.blinded ? el("button", { type: "button", onclick: () => sureReplaceView(patient) }, "Another kit") : null,
      el("button", { type: "button", onclick: () => noteView(patient) }, "Write a note"), printButton(), back("To the list")),
    el("h3", {}, `Notes: ${patient.notes.length}`),
    el("ul", { class: "list" }, patient.notes.map((note) => el("li", {},
      el("span", {}, note.text), el("span", {}, note.kind),
      el("p", { class: "what" }, `${when(note.time)} by ${note.operator}`)))));
  fillSlip(patient);
  return "";
}

/** Another kit of the same arm, for one that cannot be used. */
function sureReplaceView(patient) {
  const name = newForm();
  const replace = async () => {
    await asking(`another kit for patient ${patient.code}`, { order: "replace", patient: patient.number }, name, false, patient.code);
    return "";
  };
  show("Give another kit?",
    el("p", { class: "sure" }, `Patient ${patient.code}, instead of kit ${patient.arm.name}`),
    el("p", {}, "For a kit that is damaged or lost. A kit cannot be taken back."),
    form(replace, `Give ${patient.code} another kit`));
}

function noteView(patient) {
  const text = el("textarea", { name: "text", rows: 3, maxLength: 200 });
  const name = newForm();
  const write = async (made) => {
    const kind = chosen(made, "kind");
    if (kind === null) return "Choose what the note is about first.";
    if (text.value.trim() === "") return "Type the note first.";
    const words = text.value.replace(/\s+/g, " ");
    const answer = await send({ order: "note", patient: patient.number, kind: state.notes[kind].kind, text: words }, name);
    return answer.failed || (answer.ended ? "" : patientView(patient.code));
  };
  show(`Note on patient ${patient.code}, number ${patient.number}`,
    el("p", {}, "A note stays in the log and changes nothing else. Write no outcome here."),
    form(write, "Write to the log", choices("kind", "About", state.notes.map((note) => note.name)), field("Note", text)));
}

function operatorView() {
  const input = el("input", { type: "text", name: "name", maxLength: 40, autocomplete: "off" });
  const name = newForm();
  const change = async () => {
    if (input.value.trim() === "") return "Type a name first.";
    const answer = await send({ order: "operator", name: input.value }, name);
    if (answer.done) home();
    return answer.failed || "";
  };
  show("Operator", form(change, "Switch operator",
    field("Name or initials", input, `Now: ${state.operator}. The log names the operator in every line.`)));
  input.focus();
}

async function reportView() {
  const answer = await send({ order: "report" });
  if (answer.ended) return;
  if (answer.failed) {
    show("Report", el("p", {}, `No report: ${answer.failed}.`), el("div", { class: "buttons" }, back("To the list")));
    return;
  }
  const number = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);
  const head = ["Kind of patient", "Effect", "Low", "High", "Outcomes"];
  if (answer.rows.length === 0) {
    show("Report", el("p", {}, "No kind of patient has an estimate."), el("div", { class: "buttons" }, back("To the list")));
    return;
  }
  const picture = URL.createObjectURL(new Blob([answer.svg], { type: "image/svg+xml" }));
  show("Report",
    el("img", { class: "plot", src: picture, alt: "The effects of the table below with their intervals.", onload: () => URL.revokeObjectURL(picture) }),
    el("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Effects" }, el("table", {},
      el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, answer.rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.name),
        [number(row.estimate), number(row.low), number(row.high), String(row.outcomes)].map((text) => el("td", {}, text))))))),
    el("p", {}, `Effect: mean outcome of ${answer.arms[1]} minus that of ${answer.arms[0]}, with its 95 % confidence interval. `
      + `Patients enrolled: ${answer.enrolled}. Outcomes counted: ${answer.outcomes} (noisy). They differ because ${answer.why}. `
      + `Trial ${answer.trial}. The report's MAC was not checked here: equipoise report --verify does.`),
    el("div", { class: "buttons" }, back("To the list")));
}

// ---------------------------------------------------------------- start

// Reloaded in a view: its form is gone.
if (history.state && history.state.away) history.replaceState(null, "");
// The first state shows the list.
onState = listView;
listen();
