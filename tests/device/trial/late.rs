//! Blocks of patients whose outcomes come late or never.

use super::*;
use equipoise::design::LedgerView;
use equipoise::trial::{Answer, Late};

/// Patients whose feature, outcome, loss and delay depend on the seed and their number alone.
struct Ward {
    seed: u64,
    features: u8,
    scale: u16,
    delay: u32,
    arms: Vec<Arm>,
    /// Day, patient and outcome of those who wait.
    waiting: Vec<(u32, u32, Option<u16>)>,
}

impl Ward {
    fn word(&self, patient: u32) -> u64 {
        Xoshiro256PlusPlus::seed_from_u64(self.seed << 32 | u64::from(patient)).next_u64()
    }

    /// Outcomes that fall due on a day, in the order of the patients.
    fn due(&mut self, day: u32) -> Vec<(u32, Option<u16>)> {
        let due = self.waiting.iter().filter(|(on, ..)| *on == day).map(|(_, p, y)| (*p, *y));
        let mut due: Vec<_> = due.collect();
        due.sort_unstable();
        self.waiting.retain(|(on, ..)| *on != day);
        due
    }
}

impl Late for Ward {
    fn feature(&mut self, patient: u32) -> u8 {
        (self.word(patient) % u64::from(self.features)) as u8
    }

    fn answer(&mut self, patient: u32, arm: Arm, end: u32) -> Answer {
        let word = self.word(patient);
        self.arms.push(arm);
        let better = if arm == Arm::One { self.scale / 2 } else { 0 };
        let y = (better + (word >> 16 & 0xFFFF) as u16 % (self.scale / 2 + 1)).min(self.scale);
        let (lost, late) = (word >> 32 & 7 == 0, (word >> 40) as u32 % (self.delay + 1));
        let (day, comes) = (patient + late, patient + late < end);
        if !comes {
            self.waiting.push((day, patient, (!lost).then_some(y)));
        }
        Answer { comes, lost, y }
    }
}

/// Course of a trial: arms, and all ledgers after each look with the count of assigned patients.
type Story = (Vec<Arm>, Vec<(u8, Vec<Option<LedgerView>>)>, Vec<u8>, bool);

/// Plays a trial day by day, with or without blocks.
fn play(text: &str, seed: u64, delay: u32, blocks: bool) -> (Story, u32) {
    let plan = plan(text);
    let mut trial = Trial::<8, 512>::new(plan).unwrap();
    let mut chance = Generator::seed_from_u64(seed);
    let (features, scale) = (plan.features(), plan.scale());
    let mut ward = Ward { seed, features, scale, delay, arms: vec![], waiting: vec![] };
    let mut looks: Vec<(u8, Vec<Option<LedgerView>>)> = vec![];
    let (mut day, mut in_blocks) = (0, 0);
    let tell = |trial: &mut Trial<8, 512>, ward: &mut Ward, day, chance: &mut Generator| {
        for (patient, y) in ward.due(day) {
            match y {
                Some(y) => trial.outcome(patient, y, chance).unwrap(),
                None => trial.lost(patient, chance).unwrap(),
            }
        }
    };
    while day < plan.patients() + delay {
        let calm = trial.calm_until(&mut chance);
        if looks.last().is_none_or(|(seen, _)| *seen != trial.looks()) {
            looks.push((trial.looks(), (0..features).map(|j| trial.ledger(j)).collect()));
        }
        if blocks && day < plan.patients() && calm > day + 1 {
            for due in day + 1..calm.min(day + delay + 1) {
                tell(&mut trial, &mut ward, due, &mut chance);
            }
            trial.late(&mut ward, &mut chance).unwrap();
            in_blocks += trial.assigned() - day;
            day = trial.assigned();
            continue;
        }
        day += 1;
        if day <= plan.patients() {
            let feature = ward.feature(day);
            let arm = trial.assign(feature, None, &mut chance).unwrap();
            ward.answer(day, arm, 0);
        }
        tell(&mut trial, &mut ward, day, &mut chance);
    }
    assert_eq!(trial.unresolved(), 0);
    trial.close(&mut chance);
    ((ward.arms, looks, bytes(&trial), chance.coin()), in_blocks)
}

/// Blocks leave the trial as the same patients one by one do: arms, ledgers after every look, the
/// state after the close, and the generator.
#[test]
fn late_blocks_equal_patients_one_by_one() {
    for design in ["interim", "uniform"] {
        for rest in ["", " scale=10", " scale=300", " reports=3", " scale=2 reports=8 epsilon=1/4"]
        {
            let epsilon = if rest.contains("epsilon") { "" } else { " epsilon=1" };
            for (seed, delay) in [(1, 0), (2, 1), (3, 40), (4, 400)] {
                for patients in [2, 41, 3000] {
                    let text =
                        format!("design={design} features=3 patients={patients}{epsilon}{rest}");
                    let (with, taken) = play(&text, seed, delay, true);
                    let (without, none) = play(&text, seed, delay, false);
                    assert_eq!(with, without, "{text} {delay}");
                    assert_eq!(none, 0);
                    // Most of a long trial is in blocks.
                    assert!(patients < 3000 || delay > 40 || taken > 2000, "{text} {taken}");
                }
            }
        }
    }
    let conse = plan("design=conse features=1 patients=100 epsilon=1");
    assert_eq!(Small::new(conse).unwrap().calm_until(&mut Generator::seed_from_u64(1)), 0);
}

/// A feature that the plan does not have, and a full table, end a block with an error; patients
/// before are taken.
#[test]
fn late_blocks_refuse_what_assign_refuses() {
    let text = "features=3 patients=3000 epsilon=1";
    let ward = |features, delay| Ward {
        seed: 5,
        features,
        scale: 1,
        delay,
        arms: vec![],
        waiting: vec![],
    };
    let mut chance = Generator::seed_from_u64(5);
    let mut trial = Small::new(plan(text)).unwrap();
    assert_eq!(trial.late(&mut ward(9, 0), &mut chance), Err(TrialError::Feature));
    let mut trial = Small::new(plan(text)).unwrap();
    assert_eq!(trial.late(&mut ward(3, 100_000), &mut chance), Err(TrialError::Full));
    assert_eq!(trial.unresolved(), 16);
    assert!(trial.assigned() >= 16);
}

/// A block marks what has changed.
#[test]
fn late_blocks_mark_what_changed() {
    let mut ward = Ward { seed: 5, features: 3, scale: 1, delay: 0, arms: vec![], waiting: vec![] };
    let mut trial = Small::new(plan("features=5 patients=3000 epsilon=1")).unwrap();
    trial.take_dirty();
    trial.late(&mut ward, &mut Generator::seed_from_u64(5)).unwrap();
    let dirty = trial.take_dirty();
    assert!(names(dirty, Part::Progress) && (0..3).all(|j| names(dirty, Part::Tally(j))));
    assert!(!names(dirty, Part::Tally(3)), "nobody had this feature");
}
