//! The first page: what the trial is, what it can see and what it promises.

use super::Dossier;
use super::html::{facts, heading, list, paragraph};
use crate::chart::svg::escape;
use crate::planner::describe::{headline, untested};
use crate::planner::verdict::{advice, percent};
use crate::simulate::figures::Unit;
use equipoise::plan::DesignName;

/// The most that anything published can move a belief of one half about a patient.
pub(super) fn belief(epsilon: f64) -> f64 {
    let factor = epsilon.exp();
    factor / (1.0 + factor)
}

/// The page.
pub(super) fn write(dossier: &Dossier) -> String {
    let Dossier { question, found, comparison, words, .. } = dossier;
    let (proposal, figures) = (&found.proposal, &found.summary);
    let mut text = format!("<div class=\"summary\">\n<h1>{}</h1>\n", escape(&words.title));
    text += &format!(
        "<p class=\"small\">Design and operating characteristics, for the appendix of the protocol. \
         Made by equipoise {}; every number comes from a simulation with the program that runs on \
         the device.</p>\n",
        env!("CARGO_PKG_VERSION")
    );
    text += &format!(
        "<div class=\"verdict\"><p><b>{}</b></p>\n{}</div>\n",
        escape(&headline(question, found).replace("+-", "±")),
        paragraph(&advice(comparison))
            + &untested(question, found).map_or_else(String::new, paragraph)
    );
    text += &heading("Summary");
    let [zero, one] = &words.arms;
    let worse = figures.worse_share * f64::from(proposal.patients);
    let power = question.wish.power_of(figures);
    let null = comparison.columns.first().map(|column| &column.null);
    let null = null.and_then(|null| question.wish.power_of(null));
    let rates = format!(
        "{} under arm 0, {:.4} under arm 1",
        question.baseline,
        question.baseline + proposal.effect
    );
    let share = |figure| Unit::Share.write(figure).replace("+-", "±");
    let mut rows = vec![
        ("arms", format!("{zero} (arm 0), {one} (arm 1)")),
        ("outcome", words.question.clone()),
        ("kinds of patient", question.base.plan.features().to_string()),
        ("assumed mean outcomes", rates),
        ("patients", proposal.patients.to_string()),
        ("of them on the worse arm, if the assumptions hold", format!("{worse:.0}")),
        ("power: the 95 % interval excludes 0", share(power)),
        ("without an effect it excludes 0 in", share(null)),
        ("mean width of the interval", format!("{:.3}", question.wish.width_of(figures))),
        (
            "privacy of one patient",
            format!(
                "epsilon {}: a belief of 50 % about one patient can become at most {}",
                proposal.epsilon,
                percent(belief(proposal.epsilon.to_f64()))
            ),
        ),
        ("device", words.board.clone()),
    ];
    rows.extend(words.duration.clone().map(|duration| ("duration", duration)));
    text += &facts(&rows);
    let how = match proposal.design {
        DesignName::Uniform => "Every patient gets an arm by a fair coin, to the end.",
        _ => {
            "The coin of each kind of patient turns towards the arm that leads, as far as the \
             evidence goes; no arm is ever given up (section 1)."
        }
    };
    text += &list(&[
        how.to_owned(),
        "Every number assumes what section 2 lists; section 4 shows what happens if it is wrong."
            .into(),
        "Outcomes must be recorded after the same follow-up for every patient, whatever they are \
         (section 8)."
            .into(),
        "Every number can be found again with the commands of section 9.".into(),
    ]);
    text + "</div>\n"
}
