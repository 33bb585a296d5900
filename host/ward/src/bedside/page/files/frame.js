// What every view is made of: elements, words, forms, and the frame around them.
//
// Text reaches the page as text only: elements are made by `el`, never from markup.
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

const isOverdue = (patient) =>
  patient.due !== null && !patient.withdrawn && Date.parse(patient.due) < now();

function due(patient) {
  if (patient.due === null || patient.withdrawn) return null;
  const left = Date.parse(patient.due) - now();
  const text = left < 0 ? `OVERDUE by ${span(-left)}` : `due in ${span(left)}`;
  return el("span", { class: left < 0 ? "overdue" : "" }, text);
}

const when = (time) =>
  new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

/** A moment on paper: to the minute, in UTC, as in lists and on the screen. */
const utc = (time) => `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const clock = (time) => new Date(time).toLocaleTimeString(undefined, { timeStyle: "short" });

/** The only place where an arm or a kit is drawn: name, colour and shape; one shape for all kits. */
function armSign(arm, small) {
  const shape = ["●", "■", "◇"][arm.sign];
  const { length } = arm.name;
  const long = length > 40 ? " long longest" : length > 16 ? " long" : "";
  return el(
    "p",
    { class: `arm sign${arm.sign}${long}${small ? " small" : ""}` },
    el("span", { class: "shape", "aria-hidden": "true" }, shape),
    el("span", { class: "name" }, arm.name),
  );
}

// ---------------------------------------------------------------- the frame

function showTop() {
  document.title = `${state.title}: equipoise`;
  byId("title").textContent = state.title;
  byId("operator").replaceChildren(
    el("span", { class: "quiet" }, isOpen() ? `Operator ${state.operator} ` : "Nobody signed in"),
    ...(isOpen()
      ? [
          state.staff
            ? el("button", { class: "plain", type: "button", onclick: signOut }, "sign out")
            : el("button", { class: "plain", type: "button", onclick: operatorView }, "change"),
        ]
      : []),
  );
  const device = byId("device");
  const words = {
    up: `✓ Connected: ${state.device}`,
    looking: state.device,
    silent: "✗ NO ANSWER. The device is connected, and has not answered for some seconds.",
    down: `✗ NO DEVICE. ${sentence(state.device)}`,
    unfit: `✗ THIS DEVICE CANNOT BE USED. ${sentence(state.device)}`,
  }[state.link];
  if (device.textContent !== words) device.textContent = words;
  device.className = state.up ? "good" : state.link === "looking" ? "quiet" : "bad";
  byId("practice").hidden = !state.practice;
  const status = state.status;
  byId("progress").replaceChildren(
    ...(status
      ? [
          el("progress", {
            max: status.patients,
            value: status.assigned,
            "aria-label": "Patients enrolled",
          }),
          el(
            "p",
            { class: "quiet" },
            `${state.up ? "" : "As last heard: "}Patients ${status.assigned} of ${status.patients}. ` +
              `Phase: ${status.phase}, ${status.look}.`,
          ),
        ]
      : [el("p", { class: "quiet" }, "The device has not told its state yet.")]),
  );
  const { text, error, time } = state.message;
  if (told !== time + text) say(text === "" ? "" : `${text} (${clock(time)})`, error);
  told = time + text;
}

/** The program's message that was shown last: it is told once. */
let told = "";

/** The last thing that happened. */
function say(text, error) {
  const message = byId("message");
  message.className = error ? "bad" : "";
  message.textContent = text;
}

/** Whether a history entry stands for the view, so that Back leads to the list. */
let away = false;
let view = 0;

/** What is shown may be put on paper: it holds no outcome. */
const printable = () => document.body.classList.add("printable");

/** Shows a view; its heading gets the focus. Gives its number, to see whether it is still shown. */
function show(title, ...parts) {
  // What was said of one patient does not stand over the next.
  if (!away || byId("message").className === "bad") say("", false);
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
  document.body.classList.remove("printable");
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

const back = (text = "Back", where = home) =>
  el("button", { type: "button", onclick: () => where() }, text);

/** How long a confirmation takes no input: the second click of two is not an answer to it. */
const SETTLE = 700;

/** Buttons that can be pressed once a person can have read what they do. */
function settle(...buttons) {
  const from = performance.now() + SETTLE;
  for (const button of buttons) {
    button.disabled = true;
    // A click that waited while the page was busy has the time of the hand, not of its turn.
    const early = (event) => {
      if (event.timeStamp < from) {
        event.preventDefault();
        event.stopImmediatePropagation();
      }
    };
    button.addEventListener("click", early, { capture: true });
  }
  setTimeout(() => {
    for (const button of buttons) button.disabled = false;
  }, SETTLE);
}

/**
 * A form whose button can be pressed once; its Back leads to `where`. Buttons of a confirmation
 * have a `side` of the page: the other one than the step before it.
 */
function form(action, name, fields, where = home, side = null) {
  const button = el("button", { class: "first", type: "submit" }, name);
  const leave = back("Back", where);
  const note = el("div", { class: "bad", role: "alert" });
  if (side !== null) settle(button, leave);
  const made = el(
    "form",
    { autocomplete: "off", noValidate: true },
    fields,
    note,
    el(
      "div",
      { class: side === null ? "buttons" : "buttons sure" },
      side === "right" ? [leave, button] : [button, leave],
    ),
  );
  const plain = () => {
    note.textContent = "";
    for (const input of made.querySelectorAll("[aria-invalid]")) {
      input.removeAttribute("aria-invalid");
      byId(`${input.id}-why`).textContent = "";
    }
  };
  made.oninput = plain;
  made.onsubmit = async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    plain();
    const why = await action(made);
    if (why && why.field) wrong(why.field, why.words);
    else if (why) note.append(why);
    button.disabled = false;
  };
  return made;
}

function field(label, input, hint) {
  input.id = `field-${input.name}`;
  const hinted = hint ? `${input.id}-hint ` : "";
  input.setAttribute("aria-describedby", `${hinted}${input.id}-why`);
  return el(
    "div",
    { class: "field" },
    el("label", { htmlFor: input.id }, label),
    input,
    hint ? el("div", { class: "quiet", id: `${input.id}-hint` }, hint) : null,
    el("div", { class: "bad", id: `${input.id}-why`, role: "alert" }),
  );
}

/** Says at a field what is wrong with it. */
function wrong(input, words) {
  input.setAttribute("aria-invalid", "true");
  byId(`${input.id}-why`).replaceChildren(words);
  input.focus();
}

/** A message of the program as a sentence. */
const sentence = (text) =>
  text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

function choices(name, question, texts, checked = null) {
  return el(
    "fieldset",
    {},
    el("legend", {}, question),
    texts.map((text, place) =>
      el(
        "label",
        { class: "choice" },
        el("input", { type: "radio", name, value: String(place), checked: place === checked }),
        text,
      ),
    ),
  );
}

function chosen(made, name) {
  const value = new FormData(made).get(name);
  return value === null ? null : Number(value);
}
