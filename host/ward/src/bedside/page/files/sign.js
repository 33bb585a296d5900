// Who works at this tab: signing in, the lock, the PIN at an act; and the questions about
// eligibility and consent.
//
// Without a staff file nobody signs in. With one, the program tells a tab nothing of patients
// before somebody signs in at it, and no longer once it was left alone.
"use strict";

/** Whether the view of the tab is the one to sign in. */
let locked = false;

/** Whether patients may be shown here. */
const isOpen = () => !state.staff || state.signed !== null;

/** Shows or leaves the view to sign in; whether the view that is shown takes the news. */
function seated() {
  if (isOpen()) {
    if (locked) {
      locked = false;
      listView();
      return false;
    }
    return true;
  }
  if (!locked) signView();
  return false;
}

function signView() {
  locked = true;
  [search, part] = ["", ""];
  say("", false);
  const id = el("input", {
    type: "text",
    name: "id",
    autocapitalize: "off",
    spellcheck: false,
    maxLength: 8,
  });
  const pin = pinInput();
  const sign = async () => {
    if (id.value.trim() === "") return "Type your short id first.";
    if (pin.value === "") return "Type your PIN first.";
    const typed = pin.value;
    pin.value = "";
    const answer = await send({ order: "sign-in", id: id.value }, newForm(), typed);
    if (answer.failed) pin.focus();
    return answer.failed || "";
  };
  const made = form(sign, "Sign in", [field("Short id", id), field("PIN", pin)]);
  // There is nothing to go back to.
  made.querySelector("button[type=button]").remove();
  draw("Who works here?", [
    el("p", {}, "Nothing of patients is shown here until somebody signs in."),
    made,
  ]);
  id.focus();
}

const signOut = () => send({ order: "sign-out" });

function pinInput() {
  return el("input", {
    type: "password",
    name: "pin",
    inputMode: "numeric",
    autocomplete: "off",
    maxLength: 12,
  });
}

const signs = (act) => state.staff && state.sign.includes(act);

/** The field for the PIN of an act that is signed; none for another act. */
const pinField = (act) =>
  signs(act)
    ? [field("Your PIN", pinInput(), `You sign as ${state.signed}. The log never holds the PIN.`)]
    : [];

/** The PIN typed for an act, once the program found it right; otherwise why not. */
async function pinOf(made, act) {
  if (!signs(act)) return { pin: undefined };
  const input = made.querySelector("[name=pin]");
  const pin = input.value;
  input.value = "";
  input.focus();
  if (pin === "") return { why: "Type your PIN first." };
  const answer = await send({ order: "pin" }, newForm(), pin);
  return answer.failed ? { why: answer.failed } : { pin };
}

// Somebody who types or clicks is there, also without an order.
let here = 0;
for (const sign of ["keydown", "pointerdown"]) {
  document.addEventListener(sign, () => {
    if (!state || !state.staff || state.signed === null) return;
    if (Date.now() - here < (state.lock * 1000) / 4) return;
    here = Date.now();
    send({ order: "here" });
  });
}

// A tab that is closed or reloaded is left at once, not only after some time.
window.addEventListener("pagehide", () => {
  if (!state || !state.staff || state.signed === null) return;
  const body = JSON.stringify({ form: newForm(), seat, ask: { order: "sign-out" } });
  navigator.sendBeacon("order", new Blob([body], { type: "application/json" }));
});

// ---------------------------------------------------------------- eligibility and consent

/** The questions before an enrolment; all must have the allowed answer. */
function eligibleView(known = [], code = "", levels = []) {
  const words = ["yes", "no"];
  const asked = state.eligibility.map((question, place) =>
    choices(`answer${place}`, question.text, words, words.indexOf(known[place])),
  );
  const next = (made) => {
    const places = asked.map((_, place) => chosen(made, `answer${place}`));
    if (places.includes(null)) return "Answer every question first.";
    const answers = places.map((place) => words[place]);
    const failed = state.eligibility.findIndex(
      (question, place) => question.allowed !== answers[place],
    );
    if (failed < 0) enrolView(code, levels, answers);
    else excludeView(answers, failed);
    return "";
  };
  show(
    "Eligibility and consent",
    el("p", {}, "An answer that excludes the patient ends the enrolment; no code is needed."),
    form(next, "Next", [asked]),
  );
}

/** Ends an enrolment by an answer: the screening log gets an entry. */
function excludeView(answers, failed) {
  const { text, consent } = state.eligibility[failed];
  const reason = consent ? "no consent" : `${text} ${answers[failed]}`;
  const name = newForm();
  const write = async (made) => {
    const signed = await pinOf(made, "enrol");
    if (signed.why) return signed.why;
    const answer = await send({ order: "not-eligible", answers }, name, signed.pin);
    if (answer.done) home();
    return answer.failed || "";
  };
  show(
    "Not eligible",
    el("p", { class: "sure" }, `Not eligible: ${reason}`),
    el("p", {}, "Nobody is enrolled. The screening log gets an entry with the answers, no code."),
    form(write, "Write to the screening log", pinField("enrol"), () => eligibleView(answers)),
  );
}
