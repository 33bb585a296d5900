// The report, and the start of the page.
"use strict";

async function reportView() {
  const before = view;
  const answer = await send({ order: "report" });
  if (answer.ended || view !== before) return;
  if (answer.failed) {
    show(
      "Report",
      el("p", {}, `No report: ${answer.failed}.`),
      el("div", { class: "buttons" }, back("To the list")),
    );
    return;
  }
  const number = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);
  const head = ["Kind of patient", "Effect", "Low", "High", "Outcomes"];
  if (answer.rows.length === 0) {
    show(
      "Report",
      el("p", {}, "No kind of patient has an estimate."),
      el("div", { class: "buttons" }, back("To the list")),
    );
    return;
  }
  show(
    "Report",
    el("p", { class: "sure" }, sentence(answer.stage)),
    plot(answer),
    el(
      "div",
      { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Effects" },
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            head.map((name) => el("th", { scope: "col" }, name)),
          ),
        ),
        el(
          "tbody",
          {},
          answer.rows.map((row) =>
            el(
              "tr",
              {},
              el("th", { scope: "row" }, row.name),
              [number(row.estimate), number(row.low), number(row.high), String(row.outcomes)].map(
                (text) => el("td", {}, text),
              ),
            ),
          ),
        ),
      ),
    ),
    answer.warning ? el("p", { class: "bad" }, answer.warning) : null,
    el(
      "p",
      {},
      `Better is ${state.better}. ` +
        `Effect: mean outcome of ${answer.arms[1]} minus that of ${answer.arms[0]}, ` +
        `with its 95 % confidence interval. Patients enrolled: ${answer.enrolled}, ` +
        `resolved: ${answer.resolved}. Outcomes counted: ${answer.outcomes} (noisy). ` +
        (answer.outcomes === answer.resolved
          ? ""
          : `Counted and resolved differ: ${answer.why}. `) +
        `Trial ${answer.trial}. The report's MAC was not checked here: ` +
        "equipoise report --verify does.",
    ),
    el(
      "div",
      { class: "buttons" },
      el("button", { type: "button", onclick: () => window.print() }, "Print"),
      back("To the list"),
    ),
  );
  printable();
}

/** How far the trial is: never an effect. */
function progressView() {
  const { status } = state;
  const none = "The device has not told its state yet.";
  show(
    "Progress",
    status
      ? facts([
          ["Enrolled", `${status.assigned} of ${status.patients} patients`],
          ["Resolved", `${status.assigned - status.waiting}: an outcome or a loss`],
          ["Waiting", String(status.waiting)],
          ["Phase", status.phase],
          ["Looks", status.closed ? `${status.looks}` : `${status.looks} so far, ${status.look}`],
          ["Direction", state.direction],
        ])
      : el("p", {}, none),
    el(
      "p",
      {},
      status && status.results
        ? "The plan of this trial allows everybody to see the effects: Report."
        : "Effects are not shown here: the plan gives them to the custodian and to holders of the " +
            "report key, because those who enrol patients could act on them.",
    ),
    el("div", { class: "buttons" }, back("To the list")),
  );
}

/** The effects as a picture that fits every width: a line each, zero in the middle. */
function plot({ rows, arms }) {
  const values = rows.flatMap((row) => [row.low, row.high, row.estimate].map(Math.abs));
  const reach = Math.min(1, Math.max(0.1, Math.ceil(Math.max(...values) * 10) / 10));
  const place = (value) => `${(Math.max(-1, Math.min(1, value / reach)) + 1) * 50}%`;
  const at = (kind, left, right = null) => {
    const mark = el("span", { class: kind });
    mark.style.left = place(left);
    if (right !== null) mark.style.right = `calc(100% - ${place(right)})`;
    return mark;
  };
  const ends = el(
    "div",
    { class: "ends" },
    el("span", {}, (-reach).toFixed(1).replace("-", "−")),
    el("span", {}, "0"),
    el("span", {}, `+${reach.toFixed(1)}`),
  );
  return el(
    "div",
    { class: "plot", "aria-hidden": "true" },
    rows.map((row) => [
      el("div", { class: "name" }, row.name),
      el(
        "div",
        { class: "track" },
        at("zero", 0),
        at("interval", row.low, row.high),
        at("estimate", row.estimate),
      ),
    ]),
    el("div", { class: "name" }),
    ends,
    el("div", { class: "name" }),
    el(
      "div",
      { class: "ends" },
      el("span", {}, `← lower with ${arms[1]}`),
      el("span", {}, `higher with ${arms[1]} →`),
    ),
  );
}

// ---------------------------------------------------------------- start

// Reloaded in a view: its form is gone.
if (history.state && history.state.away) history.replaceState(null, "");
// The first state shows the list.
onState = listView;
listen();
