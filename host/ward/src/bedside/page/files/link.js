// Between the page and the program: what it tells is kept in `state`, what a person does is sent as
// an order. The scripts of the page share one scope, in the order of index.html.
"use strict";

// ---------------------------------------------------------------- what the program tells

/** The last state told; none before the first. */
let state = null;
/** The program's clock minus this machine's view of it, in milliseconds. */
let ahead = 0;
/** How the view in `main` takes a new state. */
let onState = () => {};

/** Whether this page can do nothing any more: the program it belongs to is gone. */
let over = false;

let events = null;
let lastHeard = 0;
let listeners = [];
const SILENCE = 30_000;
/** The status of a refusal because too many connections are open. */
const FULL = 503;

function listen() {
  if (events || over || document.hidden) return;
  events = new EventSource(`events?seat=${seat}`);
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
    if (seated()) onState();
  });
  events.addEventListener("beat", (event) => heard(event.data));
  // The program ends every stream after some time, for a page that sleeps would hold it.
  events.addEventListener("again", () => {
    deaf();
    listen();
  });
  events.onerror = () => {
    lost();
    // A refusal ends the source for good, and does not say which refusal it was.
    if (events && events.readyState === EventSource.CLOSED) {
      deaf();
      findOut();
    }
  };
}

/** Asks why the program refused this page: without a key it is over, otherwise it tries again. */
async function findOut() {
  try {
    const response = await fetch("", { cache: "no-store" });
    // The program was started again, with another key.
    if (response.status === 403) ended(false);
    else if (response.status === FULL) lost(await response.text());
  } catch {
    // Nobody answers: the next try is as good as this one.
  }
}

function deaf() {
  if (events) events.close();
  events = null;
}

/** Resolves when the program is heard again, or the page is over. */
const heardAgain = () => new Promise((wake) => listeners.push(wake));

function lost(why) {
  if (over) return;
  const note = byId("lost");
  note.textContent =
    why ||
    "This page has lost the program: what it shows may be old. " +
    "It goes on by itself when the program answers; " +
    "if the program was ended or started again, open the address that it printed last.";
  note.hidden = false;
}

/** The program refuses this page: it was started again. `open`: an order may have arrived before. */
function ended(open) {
  if (!over) {
    over = true;
    deaf();
    state = null;
    byId("lost").hidden = true;
    for (const part of ["operator", "device", "progress", "message"]) byId(part).replaceChildren();
    byId("practice").hidden = true;
    draw("This page is over", [
      el(
        "p",
        { class: "alarm" },
        "The program was ended or started again: nothing can be done here any more. " +
          "Open the address that the program printed last.",
      ),
    ]);
    for (const wake of listeners.splice(0)) wake();
  }
  if (open && !byId("open")) {
    const look = "Look at the new page whether it was done.";
    byId("main").append(
      el("p", { id: "open" }, `What was last sent from here has no answer. ${look}`),
    );
  }
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
  }
  listen();
}, 5_000);

// ---------------------------------------------------------------- orders

/** The random name of a form: an order sent again under it is carried out once. */
function newForm() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The random name of this tab: who signs in here works here, and nowhere else. */
const seat = newForm();

/** Sends an order until it is answered. */
async function send(ask, form = newForm(), pin = undefined) {
  const answer = await sendUntilAnswered(JSON.stringify({ form, seat, pin, ask }));
  if (answer.ended) ended(answer.open);
  return answer;
}

async function sendUntilAnswered(body) {
  // Whether an earlier copy may have arrived.
  let repeated = false;
  for (;;) {
    if (over) return { ended: true, open: repeated };
    try {
      const response = await fetch("order", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body,
        cache: "no-store",
      });
      if (response.ok) return await response.json();
      if (response.status === 403) {
        return { ended: true, open: repeated };
      }
      if (response.status !== FULL) return { failed: await response.text() };
      // It was not looked at: it is sent again.
      lost(await response.text());
      if (!over) await heardAgain();
    } catch {
      repeated = true;
      lost();
      if (!over) await heardAgain();
    }
  }
}
