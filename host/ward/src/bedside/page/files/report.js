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
  const picture = URL.createObjectURL(new Blob([answer.svg], { type: "image/svg+xml" }));
  show(
    "Report",
    el(
      "div",
      { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Picture of the effects" },
      el("img", {
        class: "plot",
        src: picture,
        alt: "The effects of the table below with their intervals.",
        onload: () => URL.revokeObjectURL(picture),
      }),
    ),
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
      `Effect: mean outcome of ${answer.arms[1]} minus that of ${answer.arms[0]}, ` +
        `with its 95 % confidence interval. Patients enrolled: ${answer.enrolled}. ` +
        `Outcomes counted: ${answer.outcomes} (noisy). They differ because ${answer.why}. ` +
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

// ---------------------------------------------------------------- start

// Reloaded in a view: its form is gone.
if (history.state && history.state.away) history.replaceState(null, "");
// The first state shows the list.
onState = listView;
listen();
