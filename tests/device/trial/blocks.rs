//! Blocks of patients whose outcome comes at once.

use super::*;

/// Patients drawn from a generator, and the arms they got.
struct Drawn {
    world: Xoshiro256PlusPlus,
    features: u8,
    rates: [u64; 2],
    word: u64,
    arms: Vec<(u32, Arm)>,
}

impl Drawn {
    fn new(seed: u64, features: u8, rates: [u64; 2]) -> Self {
        Self {
            world: Xoshiro256PlusPlus::seed_from_u64(seed),
            features,
            rates,
            word: 0,
            arms: vec![],
        }
    }
}

impl AtOnce for Drawn {
    fn feature(&mut self, patient: u32) -> u8 {
        assert!(patient <= MAX_PATIENTS + 1, "no end");
        self.word = self.world.next_u64();
        self.arms.push((patient, Arm::Zero));
        (self.word % u64::from(self.features)) as u8
    }

    fn outcome(&mut self, arm: Arm) -> bool {
        self.arms.last_mut().unwrap().1 = arm;
        self.word >> 32 & 255 < self.rates[arm.index()]
    }
}

/// One patient of the same world by the usual two requests; what they dirty together.
fn one_by_one<const M: usize, const U: usize>(
    trial: &mut Trial<M, U>,
    patients: &mut Drawn,
    chance: &mut Generator,
) -> Result<(), TrialError> {
    let patient = trial.assigned() + 1;
    let feature = patients.feature(patient);
    let arm = trial.assign(feature, None, chance)?;
    trial.outcome(patient, patients.outcome(arm).into(), chance)
}

/// Dirty parts in order: after several patients the last slot, and everything else that any of them
/// changed.
fn parts<const M: usize, const U: usize>(dirty: Dirty) -> Vec<Part> {
    Trial::<M, U>::parts().filter(|part| names(dirty, *part)).collect()
}

/// Plays a trial in blocks and one by one, with some patients who wait, and compares the whole
/// state after every block. Returns the number of blocks.
fn compare<const M: usize, const U: usize>(
    text: &str,
    seed: u64,
    rates: [u64; 2],
    waiting: u32,
) -> usize {
    let plan = plan(text);
    let (mut one, mut two) = (Generator::seed_from_u64(seed), Generator::seed_from_u64(seed));
    let mut patients = [(); 2].map(|()| Drawn::new(seed, plan.features(), rates));
    let mut trials = [(); 2].map(|()| Trial::<M, U>::new(plan).unwrap());
    for (trial, chance) in trials.iter_mut().zip([&mut one, &mut two]) {
        for _ in 0..waiting {
            trial.assign(0, Some(5), chance).unwrap();
        }
        trial.take_dirty();
    }
    let [block, single] = &mut trials;
    let mut blocks = 0;
    loop {
        let done = block.at_once(&mut patients[0], &mut one);
        blocks += 1;
        assert!(done.is_err() || single.assigned() < block.assigned(), "{text}: a block of nobody");
        let mut last = Ok(());
        // A patient who was refused has been drawn, but not assigned.
        while single.assigned() < block.assigned() || done.is_err() && last.is_ok() {
            assert_eq!(last, Ok(()), "{text}");
            let dropped = |trial: &Trial<M, U>| {
                (0..plan.features()).map(|j| trial.dropped(j)).collect::<Vec<_>>()
            };
            let before = dropped(single);
            last = one_by_one(single, &mut patients[1], &mut two);
            let inside = single.assigned() < block.assigned();
            assert!(!inside || dropped(single) == before, "{text}: a drop inside a block");
        }
        assert_eq!(last, done, "{text}");
        assert_eq!(bytes(block), bytes(single), "{text} after {}", block.assigned());
        assert_eq!(patients[0].arms, patients[1].arms, "{text}");
        assert_eq!(block.unresolved(), single.unresolved());
        assert_eq!(
            (block.next_look(), block.is_tagged()),
            (single.next_look(), single.is_tagged())
        );
        let dirty = [&mut *block, &mut *single].map(|trial| parts::<M, U>(trial.take_dirty()));
        assert_eq!(dirty[0], dirty[1], "{text} after {}", block.assigned());
        if done.is_err() {
            break;
        }
    }
    // The same stream of coins and of words is left.
    assert_eq!(one.coin(), two.coin());
    assert_eq!(
        one.discrete_laplace(&Laplace::new(plan.cell_rate())),
        two.discrete_laplace(&Laplace::new(plan.cell_rate()))
    );
    block.close(&mut one);
    single.close(&mut two);
    assert_eq!(bytes(block), bytes(single), "{text} closed");
    blocks
}

/// A block of patients leaves the trial in the same state as the patients one by one.
#[test]
fn blocks_equal_patients_one_by_one() {
    for design in DESIGNS {
        for (k, (features, patients)) in [
            (1, 2),
            (1, 3),
            (1, 7),
            (1, 40),
            (2, 41),
            (3, 1000),
            (7, 999),
            (8, 20_001),
            (1, 60_000),
        ]
        .into_iter()
        .enumerate()
        {
            for (seed, rest) in
                ["", " reports=8", " alpha=1 epsilon=20", " scale=9 reports=1 epsilon=1/4"]
                    .into_iter()
                    .enumerate()
            {
                let epsilon = if rest.contains("epsilon") { "" } else { " epsilon=1" };
                let text = format!(
                    "design={design} features={features} patients={patients}{epsilon}{rest}"
                );
                let seed = (16 * k + seed) as u64;
                // Arm 1 is far better, a little worse, or always answers yes.
                for rates in [[20, 230], [140, 120], [0, 256]] {
                    compare::<8, 16>(&text, seed, rates, 0);
                }
                compare::<64, 1>(&text, seed, [20, 230], 0);
                if patients > 12 {
                    compare::<8, 4>(&text, seed, [20, 230], 3);
                    compare::<8, 3>(&text, seed, [20, 230], 3);
                }
            }
        }
        compare::<64, 128>(
            &format!("design={design} features=64 patients=30000 epsilon=1"),
            7,
            [20, 230],
            0,
        );
        // Blocks are long: they end at looks, the turn, and a few batch ends a feature.
        let blocks = compare::<8, 16>(
            &format!("design={design} features=2 patients=60000 epsilon=1"),
            8,
            [20, 230],
            0,
        );
        assert!(blocks < 40, "{design} {blocks}");
    }
}

/// In a block a refused patient is named, and those before it are taken.
#[test]
fn refused_patient_of_a_block_is_named() {
    for design in DESIGNS {
        let text = format!("design={design} features=3 patients=500 epsilon=1");
        let mut chance = Generator::seed_from_u64(3);
        let mut trial = Small::new(plan(&text)).unwrap();
        // Feature 3 of 4 is not in the plan.
        let mut patients = Drawn::new(3, 4, [100, 100]);
        let done = (0..500).find_map(|_| trial.at_once(&mut patients, &mut chance).err());
        assert_eq!(done, Some(TrialError::Feature));
        assert_eq!(trial.assigned() as usize + 1, patients.arms.len());
        let mut usual = Small::new(plan(&text)).unwrap();
        let (mut again, mut chance) = (Drawn::new(3, 4, [100, 100]), Generator::seed_from_u64(3));
        while one_by_one(&mut usual, &mut again, &mut chance).is_ok() {}
        assert_eq!(bytes(&trial), bytes(&usual));
        trial.close(&mut chance);
        assert_eq!(trial.at_once(&mut patients, &mut chance), Err(TrialError::Closed));
    }
}
