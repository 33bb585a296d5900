//! Operation: every rule of the line, one after the other, on the device itself.

use std::collections::BTreeSet;

use super::bench::{Bench, Heard, Power, Trouble, finding, tag};
use super::plans;
use super::record::Record;
use crate::failure::Failure;
use equipoise::kits::all::arms;
use equipoise::plan::Plan;
use equipoise::wire::{FileDigest, LINE_LIMIT, Reply, Request, State, Tag, Word};

/// Nonces that are asked for, and their bits.
const NONCES: usize = 48;
/// Most standard deviations that the number of ones may lie from its mean.
const MOST_DEVIATIONS: f64 = 5.0;
/// Digest of no trial file: the trials of a qualification have none.
const FILE: FileDigest = FileDigest::NONE;

/// A refusal with this word.
fn refused(heard: &Heard, word: Word) -> Result<String, Trouble> {
    if heard.refusal() == Some(word) {
        Ok(heard.text())
    } else {
        finding(format!("expected ERR {}, the reply was {}", word.name(), heard.text()))
    }
}

/// Several refusals with the same word.
fn all_refused(bench: &mut Bench, requests: &[Request], word: Word) -> Result<String, Trouble> {
    for request in requests {
        refused(&bench.ask(request)?, word)?;
    }
    let names: Vec<String> = requests.iter().map(ToString::to_string).collect();
    Ok(format!("ERR {} to {}", word.name(), names.join(", ")))
}

/// Checks on a blank device: lines, key, lock-out.
pub fn blank(bench: &mut Bench, record: &mut Record) -> Result<(), Failure> {
    bench_blank(bench, record)?;
    record.check("O-02", "A line with one wrong bit is refused as checksum", {
        bench.send(b"HELLO*49D7\n").map_err(Into::into).and_then(|h| refused(&h, Word::Checksum))
    })?;
    record.check(
        "O-03",
        "A line without a checksum is refused once a program holds the line",
        bench.send(b"STATUS\n").map_err(Into::into).and_then(|h| refused(&h, Word::Checksum)),
    )?;
    record.check("O-04", "An unknown word is refused as syntax", {
        bench.say("HALLO").map_err(Into::into).and_then(|h| refused(&h, Word::Syntax))
    })?;
    record.check("O-05", "A line of more than 250 characters is refused as length", {
        let long = "A".repeat(LINE_LIMIT + 1);
        bench.say(&long).map_err(Into::into).and_then(|h| refused(&h, Word::Length))
    })?;
    record.check("O-06", "A blank device refuses enrolment, outcome, loss and status", {
        let tag = Some(tag(1));
        let requests = [
            Request::Assign { patient: 1, feature: 0, tag },
            Request::Outcome { patient: 1, y: 1 },
            Request::Lost { patient: 1 },
            Request::Status,
        ];
        all_refused(bench, &requests, Word::Blank)
    })?;
    record.check(
        "O-07",
        "The device has the key, and another key without a proof is refused",
        set_key(bench),
    )?;
    record.check(
        "O-08",
        "A plan without a proof, and one with a wrong proof, is refused as auth",
        plan_needs_proof(bench),
    )?;
    record.check("O-09", "Nonces differ from each other, and as many bits are set as not", {
        nonces(bench)
    })?;
    record.check("O-10", "Three wrong proofs lock the custodian out, until the power was cut", {
        lock_out(bench)
    })
}

fn bench_blank(bench: &mut Bench, record: &mut Record) -> Result<(), Failure> {
    record.check("O-01", "A trial that an earlier run left is erased, and the device is blank", {
        bench.make_blank().and_then(|()| bench.greet()).and_then(|greeting| match greeting.state {
            State::Blank => Ok("the device is blank".to_owned()),
            other => finding(format!("the device is {}", other.name())),
        })
    })
}

fn set_key(bench: &mut Bench) -> Result<String, Trouble> {
    let key = Request::Key(bench.key.bytes());
    if bench.greet()?.custody.is_some_and(|(is_set, _)| is_set) {
        // Only the holder of the key can set it again.
        bench.carry_out(&key)?;
    } else {
        let heard = bench.ask(&key)?;
        if !matches!(heard.lines.last().map(|line| Reply::parse(line)), Some(Ok(Reply::Done))) {
            return finding(format!("KEY was answered by {}", heard.text()));
        }
    }
    refused(&bench.ask(&Request::Key([0x5A; 32]))?, Word::Auth)
}

fn plan_needs_proof(bench: &mut Bench) -> Result<String, Trouble> {
    let request = Request::Plan { plan: plans::rules()?, file: FILE };
    refused(&bench.ask(&request)?, Word::Auth)?;
    refused(&bench.wrong_proof(&request)?, Word::Auth)?;
    // A right proof of something that changes nothing: the count of wrong ones begins anew.
    let key = Request::Key(bench.key.bytes());
    bench.carry_out(&key)?;
    Ok("both were refused, and the device stayed blank".to_owned())
}

fn nonces(bench: &mut Bench) -> Result<String, Trouble> {
    let mut seen = BTreeSet::new();
    let (mut ones, mut bits) = (0_u32, 0_u32);
    for _ in 0..NONCES {
        let heard = bench.ask(&Request::Challenge)?;
        let Some(Ok(Reply::Nonce(nonce))) = heard.lines.last().map(|line| Reply::parse(line))
        else {
            return finding(format!("AUTH was answered by {}", heard.text()));
        };
        ones += nonce.iter().map(|byte| byte.count_ones()).sum::<u32>();
        bits += nonce.len() as u32 * u8::BITS;
        if !seen.insert(nonce) {
            return finding(format!("the nonce {} came twice", heard.text()));
        }
    }
    let deviations = (f64::from(ones) - f64::from(bits) / 2.0) / (f64::from(bits).sqrt() / 2.0);
    let found = format!("{NONCES} nonces, {ones} of {bits} bits set ({deviations:+.1} sd)");
    if deviations.abs() > MOST_DEVIATIONS { finding(found) } else { Ok(found) }
}

fn lock_out(bench: &mut Bench) -> Result<String, Trouble> {
    let request = Request::Plan { plan: plans::rules()?, file: FILE };
    for _ in 0..3 {
        bench.wrong_proof(&request)?;
    }
    refused(&bench.ask(&Request::Challenge)?, Word::Locked)
        .or_else(|_| refused(&bench.ask(&request)?, Word::Locked))?;
    let gone = bench.cut_power()?;
    bench.carry_out(&Request::Key(bench.key.bytes()))?;
    Ok(format!("locked; after {:.1} s without power a right proof was taken", gone.as_secs_f64()))
}

/// Checks of a small open trial, to its early close and erasure.
pub fn rules(bench: &mut Bench, record: &mut Record) -> Result<(), Failure> {
    let left = bench.make_blank().and_then(|()| bench.greet());
    let mut before = None;
    record.check("O-20", "A plan with its proof begins a trial with an id of its own", {
        left.and_then(|greeting| {
            before = greeting.custody.map(|(_, left)| left);
            let trial = bench.begin(&plans::rules()?, FILE)?;
            Ok(format!("trial {trial}"))
        })
    })?;
    record.check("O-21", "A second plan is refused as locked", second_plan(bench))?;
    record.check(
        "O-22",
        "Any number but the next is refused as order, an unknown kind as feature",
        {
            let [order, feature] = [(2, 0), (1, 9)].map(|(patient, feature)| Request::Assign {
                patient,
                feature,
                tag: Some(tag(1)),
            });
            let unknown = [Request::Outcome { patient: 1, y: 1 }, Request::Lost { patient: 1 }];
            all_refused(bench, &[order], Word::Order)
                .and_then(|_| all_refused(bench, &[feature], Word::Feature))
                .and_then(|_| all_refused(bench, &unknown, Word::Unknown))
        },
    )?;
    record.check("O-23", "A repeat gives the same arm, with another tag it is refused", {
        repeat(bench)
    })?;
    let cut = match bench.power() {
        Power::Person => "unplugged by hand",
        Power::Command(_) => "cut by a command",
    };
    record.check("O-24", "After a power cut the repeat still gives the arm, for 3 patients", {
        arms_survive(bench, cut)
    })?;
    record.check(
        "O-25",
        "An outcome above the scale is refused, and a right one counts once",
        outcome_once(bench),
    )?;
    record.check(
        "O-26",
        "A loss is taken, and an outcome that comes after it changes nothing",
        {
            bench
                .resolve(2, None)
                .and_then(|_| bench.ask(&Request::Outcome { patient: 2, y: 1 }).map_err(Into::into))
                .and_then(|_| expect_resolved(bench, 2))
        },
    )?;
    record.check("O-30", "A report before the first look is refused as early", {
        bench.prove(&Request::Report).and_then(|heard| refused(&heard, Word::Early))
    })?;
    record.check(
        "O-27",
        "A close needs a proof; a closed trial takes nobody, and no outcome changes it",
        early_close(bench),
    )?;
    record.check("O-28", "The report takes a proof, and is signed for this plan and trial", {
        plans::rules()
            .and_then(|plan| bench.report(&plan, FILE))
            .map(|rows| format!("{} rows, the MAC is right", rows.len()))
    })?;
    record.check("O-29", "ERASE leaves a blank device, and the lifetime budget stays spent", {
        erase(bench, before)
    })
}

fn second_plan(bench: &mut Bench) -> Result<String, Trouble> {
    // The very same plan could be a repeat, so it is another one.
    let heard = bench.prove(&Request::Plan { plan: plans::noise()?, file: FILE })?;
    refused(&heard, Word::Locked)
}

fn repeat(bench: &mut Bench) -> Result<String, Trouble> {
    let (first, _) = bench.assign(1, 0)?;
    for _ in 0..5 {
        let (again, _) = bench.assign(1, 0)?;
        if again != first {
            return finding(format!("arm {} first, then {}", first.index(), again.index()));
        }
    }
    let other = Some(Tag(0x0BAD_7A60));
    refused(&bench.ask(&Request::Assign { patient: 1, feature: 0, tag: other })?, Word::Order)
}

fn arms_survive(bench: &mut Bench, cut: &str) -> Result<String, Trouble> {
    let mut seconds = Vec::new();
    for patient in 2..=4 {
        let (before, _) = bench.assign(patient, 1)?;
        let gone = bench.cut_power()?;
        seconds.push(format!("{:.1} s", gone.as_secs_f64()));
        let (after, _) = bench.assign(patient, 1)?;
        if before != after {
            let (before, after) = (before.index(), after.index());
            return finding(format!("patient {patient}: arm {before}, after the cut {after}"));
        }
    }
    let restart = bench.greet()?.restart.unwrap_or("not told");
    Ok(format!("{cut} 3 times, back after {}; last start: {restart}", seconds.join(", ")))
}

fn expect_resolved(bench: &mut Bench, expected: u32) -> Result<String, Trouble> {
    let resolved = bench.status()?.resolved;
    if resolved == expected {
        Ok(format!("resolved patients: {resolved}"))
    } else {
        finding(format!("resolved patients: {resolved}, expected {expected}"))
    }
}

fn outcome_once(bench: &mut Bench) -> Result<String, Trouble> {
    refused(&bench.ask(&Request::Outcome { patient: 1, y: 2 })?, Word::Range)?;
    for _ in 0..3 {
        bench.resolve(1, Some(1))?;
    }
    expect_resolved(bench, 1)
}

fn early_close(bench: &mut Bench) -> Result<String, Trouble> {
    refused(&bench.ask(&Request::Close)?, Word::Auth)?;
    bench.carry_out(&Request::Close)?;
    let tag = Some(tag(5));
    refused(&bench.ask(&Request::Assign { patient: 5, feature: 0, tag })?, Word::Closed)?;
    let before = bench.status()?;
    // The close declared those who waited lost, so this is a second outcome.
    bench.ask(&Request::Outcome { patient: 3, y: 1 })?;
    let after = bench.status()?;
    if before != after || after.resolved != after.assigned {
        return finding(format!("{before:?}, after an outcome {after:?}"));
    }
    refused(&bench.ask(&Request::Report)?, Word::Auth)?;
    Ok(format!("closed with {} of {} patients assigned", after.assigned, after.patients))
}

fn erase(bench: &mut Bench, before: Option<equipoise::wire::Micro>) -> Result<String, Trouble> {
    bench.carry_out(&Request::Erase)?;
    let greeting = bench.greet()?;
    if greeting.state != State::Blank {
        return finding(format!("the device is {}", greeting.state.name()));
    }
    match (before, greeting.custody) {
        (Some(before), Some((true, after))) if after.0 < before.0 => {
            Ok(format!("blank, the key is kept, {after} of epsilon left of {before}"))
        }
        (before, after) => finding(format!("epsilon left {before:?}, then {after:?}")),
    }
}

/// Checks of a small blinded trial: kits and replacements.
pub fn blinded(bench: &mut Bench, record: &mut Record) -> Result<(), Failure> {
    record.check("O-40", "Kit numbers are those that this program computes from the key", {
        kits(bench)
    })?;
    record.check("O-41", "The blinded trial is erased, and the device is blank", {
        bench.make_blank().map(|()| "blank".to_owned())
    })
}

fn kits(bench: &mut Bench) -> Result<String, Trouble> {
    bench.make_blank()?;
    let plan = plans::blinded()?;
    // A device never runs a blinded file twice, so each qualification has a digest of its own.
    let file = FileDigest(getrandom::u64().unwrap_or_default().to_le_bytes());
    bench.begin(&plan, file)?;
    let arms = arms(&bench.key.kit_key(file, plan.kits()), plan.kits());
    let arm_of = |kit: u32| arms.get((kit as usize).wrapping_sub(1)).copied();
    // Kits of an arm are given in the order of the list that the pharmacy has.
    let mut given = BTreeSet::new();
    let mut replaced = 0;
    for patient in 1..=6 {
        let request = Request::Assign { patient, feature: 0, tag: Some(tag(patient)) };
        let kit = bench.kit(&request)?;
        let again = bench.kit(&request)?;
        let mut of_patient = vec![kit];
        if patient % 2 == 0 {
            of_patient.push(bench.kit(&Request::Replace { patient, count: 1 })?);
            replaced += 1;
        }
        let arm = arm_of(kit);
        let is_same = arm.is_some() && of_patient.iter().all(|kit| arm_of(*kit) == arm);
        if again != kit || !is_same {
            return finding(format!("patient {patient}: kits {of_patient:?}, repeated {again}"));
        }
        if !of_patient.iter().all(|kit| given.insert(*kit)) {
            return finding(format!("patient {patient}: a kit of {of_patient:?} was given before"));
        }
    }
    let wrong = bench.ask(&Request::Replace { patient: 7, count: 1 })?;
    if wrong.refusal().is_none() {
        return finding(format!("REPLACE for nobody was answered by {}", wrong.text()));
    }
    Ok(format!("{} kits given once each, {replaced} of them replacements", given.len()))
}

/// The check that a full table of waiting patients refuses the next one and loses nobody.
pub fn capacity(bench: &mut Bench, record: &mut Record) -> Result<(), Failure> {
    record.check(
        "O-50",
        "As many patients wait as STATUS says, and one more is refused as full",
        fill(bench),
    )?;
    record.check("O-51", "After a power cut all of them still wait", {
        bench.cut_power().and_then(|_| {
            let status = bench.status()?;
            if status.waiting() == status.capacity {
                Ok(format!("{} wait", status.waiting()))
            } else {
                finding(format!("{} of {} wait", status.waiting(), status.capacity))
            }
        })
    })?;
    record.check("O-52", "The trial is erased, and the device is blank", {
        bench.make_blank().map(|()| "blank".to_owned())
    })
}

fn fill(bench: &mut Bench) -> Result<String, Trouble> {
    bench.make_blank()?;
    let plan: Plan = plans::capacity()?;
    bench.begin(&plan, FILE)?;
    let capacity = bench.status()?.capacity;
    for patient in 1..=capacity {
        bench.assign(patient, 0)?;
    }
    let (patient, tag) = (capacity + 1, Some(tag(capacity + 1)));
    let heard = bench.ask(&Request::Assign { patient, feature: 0, tag })?;
    refused(&heard, Word::Full)?;
    Ok(format!("{capacity} wait, patient {patient} was refused"))
}
