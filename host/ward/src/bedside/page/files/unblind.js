// Emergency unblinding, on a machine that was given the key for it: a reason, the patient's code
// typed once more, and the log before the arm.
"use strict";

function unblindView(patient, known = "") {
  const input = el("input", { type: "text", name: "reason", value: known, maxLength: 200 });
  const next = () => {
    if (input.value.trim() === "") return { field: input, words: "Type the reason first." };
    sureUnblindView(patient, input.value.trim());
    return "";
  };
  show(
    `Emergency unblinding: patient ${patient.code}, number ${patient.number}`,
    el(
      "p",
      { class: "alarm" },
      "Only if the care of this patient depends on knowing the arm. " +
        "The log keeps who asked, when and why.",
    ),
    form(
      next,
      "Next",
      [field("Reason", input, "As: severe allergic reaction. Up to 200 characters.")],
      () => patientView(patient.code),
    ),
  );
  input.focus();
}

function sureUnblindView(patient, reason) {
  const name = newForm();
  const input = el("input", {
    type: "text",
    name: "code",
    autocapitalize: "off",
    spellcheck: false,
  });
  const unblind = async (made) => {
    const typed = await send({ order: "fold", code: input.value.trim() });
    if (typed.ended) return "";
    if (typed.folded !== patient.folded)
      return { field: input, words: `This is not the code of patient ${patient.code}.` };
    const signed = await pinOf(made, "unblind");
    if (signed.why) return signed.why;
    const ask = { order: "unblind", patient: patient.number, reason };
    const answer = await send(ask, name, signed.pin);
    if (answer.failed) return sentence(answer.failed);
    if (answer.done) unblindedView(patient, reason, answer);
    return "";
  };
  show(
    "Unblind this patient?",
    el("p", { class: "sure" }, `Patient ${patient.code}, number ${patient.number}`),
    facts([
      ["Kit", patient.arm.name],
      ["Reason", reason],
    ]),
    el("p", {}, "Unblinding cannot be taken back. It is in the log before the arm is shown."),
    form(
      unblind,
      `Unblind ${patient.code}`,
      [field("Type the patient's code once more", input), pinField("unblind")],
      () => unblindView(patient, reason),
      "right",
    ),
  );
  input.focus();
}

/** The arm, until the view is left. It is not put on paper and no other tab learns of it. */
function unblindedView(patient, reason, { arm, time, operator }) {
  show(
    `Unblinded: patient ${patient.code}, number ${patient.number}`,
    armSign(arm, false),
    facts([
      ["Kit", patient.arm.name],
      ["Reason", reason],
      ["In the log", `${when(time)} by ${operator}`],
    ]),
    el("p", {}, "Tell nobody who need not know it. Leave this view once you have read it."),
    el("div", { class: "buttons" }, back("I have read it")),
  );
}
