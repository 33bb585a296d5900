//! Sealed cards for a code break without a computer: the kit outside, the arm inside.
//!
//! A page for each block of kits, to print on one side of A4. Every card has three parts, one below
//! the other: the front with the kit's label, which stays in sight; the arm; and a flap that is
//! folded up over the arm and taped. The flap is filled with the names of both arms, so that
//! neither can be read against the light. Opening it is seen, and the front has lines for who
//! opened it, when and why: on paper what a log entry is on a computer.
//!
//! Cards are ordered by kit number, or by patient if there is a log. Anybody who has the file can
//! unblind every patient.

use std::fmt::Write;

use crate::failure::Failure;
use crate::records::keys::KeyFile;
use crate::records::pharmacy::labels;
use crate::records::register::Register;
use crate::records::text::xml as html;
use crate::records::trial_file::TrialFile;
use equipoise::kits::all::arms;
use equipoise::terms::Arm;
use equipoise::wire::FileDigest;

/// Cards of one page: two beside each other, three below each other.
pub const BLOCK: usize = 6;
/// Letters that fill a flap.
const COVER: usize = 1200;

const STYLE: &str = "
@page { size: A4; margin: 8mm; }
* { box-sizing: border-box; }
body { color: #000; font: 9pt/1.25 system-ui, sans-serif; margin: 0; }
section { break-after: page; height: 279mm; overflow: hidden; }
section:last-child { break-after: auto; }
h1 { font-size: 10pt; height: 10mm; margin: 0; }
ul { display: grid; gap: 0 4mm; grid-template-columns: repeat(2, minmax(0, 1fr)); list-style: none; margin: 0;
  padding: 0; }
li { border: 0.3mm solid #000; height: 88mm; margin-bottom: 1.3mm; }
li > div { height: 29.3mm; overflow: hidden; padding: 2mm 3mm; }
.front p { margin: 0 0 0.5mm; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.front .kit { font-size: 15pt; font-weight: 800; line-height: 1; margin: 1mm 0; }
.front .small { font-size: 7pt; }
.arm { align-items: center; border-bottom: 0.3mm dashed #000; border-top: 0.3mm solid #000; display: flex;
  font-size: 13pt; font-weight: 700; justify-content: center; overflow-wrap: anywhere; text-align: center; }
.flap { font-size: 8pt; font-weight: 700; line-height: 0.8; overflow-wrap: anywhere; padding: 0; }
.flap p { margin: 0; }
@media screen { body { margin: 1rem auto; max-width: 194mm; } }
";

/// A card.
struct Card {
    /// The label of the kit.
    label: String,
    /// The patient who has it.
    patient: Option<String>,
    arm: Arm,
}

/// Cards as a web page.
#[derive(Debug, PartialEq, Eq)]
pub struct Cards {
    /// The page.
    pub html: String,
    /// How many cards.
    pub count: usize,
    /// How many printed pages.
    pub pages: usize,
}

/// A card for each kit of a trial, or for each kit that a patient of the log was given. The key was
/// checked ([`same_key`](super::code_break::same_key)).
///
/// # Errors
/// The trial is not blinded, or the log has no kit.
pub fn cards(trial: &TrialFile, key: &KeyFile, log: Option<&Register>) -> Result<Cards, Failure> {
    let (labels, kits) = (labels(trial)?, trial.plan.kits());
    let file = FileDigest(trial.digest());
    let arms = arms(&key.kit_key(file, kits), kits);
    let card = |kit: u32, patient: Option<String>| {
        let arm = kit.checked_sub(1).and_then(|place| arms.get(place as usize)).copied();
        arm.map(|arm| Card { label: labels.label(kit), patient, arm })
    };
    let cards: Vec<Card> = match log {
        None => (1..=kits * 2).filter_map(|kit| card(kit, None)).collect(),
        Some(register) => {
            let of =
                |number: u32| register.kits(number).iter().map(move |given| (number, given.kit));
            let given = register.patients().flat_map(|patient| of(patient.number));
            let named = |(number, kit): (u32, u32)| {
                let code = register.code(number).unwrap_or_default();
                card(kit, Some(format!("Patient {code}, number {number}")))
            };
            given.filter_map(named).collect()
        }
    };
    if cards.is_empty() {
        return Err(Failure::Refused("no patient of this log was given a kit".to_owned()));
    }
    let (count, pages) = (cards.len(), cards.len().div_ceil(BLOCK));
    let title = html(&trial.title);
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Code break cards: {title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n"
    );
    for (place, block) in cards.chunks(BLOCK).enumerate() {
        let ends = [block.first(), block.last()].map(|card| card.map_or("", |card| &card.label));
        let _ = writeln!(
            text,
            "<section>\n<h1>Code break cards, page {} of {pages}: {} to {}. Cut, fold each flap up over the arm, tape it \
             down, sign across the tape.</h1>\n<ul>",
            place + 1,
            html(ends[0]),
            html(ends[1])
        );
        block.iter().for_each(|card| text += &drawn(card, trial, file));
        text += "</ul>\n</section>\n";
    }
    text += "</body>\n</html>\n";
    Ok(Cards { html: text, count, pages })
}

/// A card in its three parts.
fn drawn(card: &Card, trial: &TrialFile, file: FileDigest) -> String {
    let [title, label] = [&trial.title, &card.label].map(|text| html(text));
    let patient = card.patient.as_ref();
    let patient = patient.map_or(String::new(), |who| format!("<p>{}</p>\n", html(who)));
    let arm = html(trial.arm_name(card.arm));
    let both = format!("{} {} ", html(&trial.arms[0]), html(&trial.arms[1]));
    let cover = both.repeat(COVER.div_ceil(both.chars().count().max(1)));
    format!(
        "<li>\n<div class=\"front\">\n<p>{title}</p>\n{patient}<p class=\"kit\">Kit {label}</p>\n\
         <p class=\"small\">Trial file {file}. Open only to save the patient from harm.</p>\n\
         <p>Opened by ____________________ on ______________</p>\n<p>because ____________________________________</p>\n\
         </div>\n<div class=\"arm\">arm {}: {arm}</div>\n<div class=\"flap\" aria-hidden=\"true\"><p>{cover}</p></div>\n</li>\n",
        card.arm.index()
    )
}
