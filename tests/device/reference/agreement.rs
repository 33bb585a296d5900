//! The shipping code and the transcription agree, arm by arm, in random trials.

use super::*;

/// A small trial drawn at random: its plan, and how its patients behave.
struct RandomTrial {
    plan: Plan,
    rates: Vec<[f64; 2]>,
    lost: [f64; 2],
    /// Patients who wait for their outcome, about.
    waiting: usize,
    /// The trial closes after this many patients.
    enrolled: usize,
}

impl RandomTrial {
    fn draw(words: &mut impl Rng) -> Self {
        let mut below = |limit: usize| (words.next_u64() % limit as u64) as usize;
        let most = if below(3) == 0 { 8 } else { 3 };
        let features = 1 + below(most);
        // Every third trial is large enough for looks before half.
        let patients = if below(3) == 0 { 300 * features + below(1500) } else { 2 + below(300) };
        let scale = [1, 1, 1, 2, 3, 4, 10, 99, 100, 101, 1000, 65_535][below(12)];
        let text = format!(
            "design={} features={features} patients={patients} scale={scale} better=high alpha={} epsilon={} beta={} \
             reports={} close=auto",
            ["interim", "interim", "interim", "uniform"][below(4)],
            ["0", "1/10", "1/4", "1/2", "1"][below(5)],
            ["1/10", "1/5", "1/2", "1", "2", "4", "8", "20"][below(8)],
            ["1/100", "1/20", "1/2", "9/10"][below(4)],
            if below(2) == 0 { 0 } else { below(9) },
        );
        let mut share = || below(1001) as f64 / 1000.0;
        let rates = (0..features).map(|_| [share(), share()]).collect();
        let lost = [share() * 0.4, share() * 0.4];
        let waiting = [0, 3, 40, 250][below(4)];
        let enrolled = if below(3) == 0 { 1 + below(patients) } else { patients };
        Self { plan: Plan::parse(&text).unwrap(), rates, lost, waiting, enrolled }
    }
}

/// The shipping code and the transcription, driven by the same requests and the same randomness.
struct Pair {
    shipping: Trial<8, 512>,
    plain: Transcription,
    chances: [Sampler<Xoshiro256PlusPlus>; 2],
    seed: u64,
}

impl Pair {
    fn new(plan: Plan, seed: u64) -> Self {
        let chance = || Sampler::seed_from_u64(seed | 1 << 40);
        Self {
            shipping: Trial::new(plan).unwrap(),
            plain: Transcription::new(&plan, plan.design() == DesignName::Interim),
            chances: [chance(), chance()],
            seed,
        }
    }

    fn assign(&mut self, feature: usize) -> usize {
        let arm = self.shipping.assign(feature as u8, None, &mut self.chances[0]).unwrap().index();
        assert_eq!(arm, self.plain.assign(feature, &mut self.chances[1]), "seed {}", self.seed);
        arm
    }

    fn resolve(&mut self, patient: usize, y: Option<u16>) {
        let Self { shipping, plain, chances: [one, two], .. } = self;
        match y {
            Some(y) => {
                shipping.outcome(patient as u32, y, one).unwrap();
                plain.outcome(patient, y, two);
            }
            None => {
                shipping.lost(patient as u32, one).unwrap();
                plain.lost(patient, two);
            }
        }
        shipping.look(one);
        self.compare();
    }

    fn close(&mut self) {
        self.shipping.close(&mut self.chances[0]);
        self.plain.close(&mut self.chances[1]);
        self.compare();
    }

    /// All that later arms and reports depend on.
    fn compare(&mut self) {
        let seed = self.seed;
        let near = |name: &str, found: f64, expected: f64| {
            let apart = (found - expected).abs();
            assert!(
                apart <= 1e-9 * (1.0 + expected.abs()),
                "seed {seed}: {name} {found}, not {expected}"
            );
        };
        for (j, plain) in self.plain.features.iter().enumerate() {
            let ledger = self.shipping.ledger(j as u8).unwrap();
            assert_eq!(ledger.cells, plain.ledger, "seed {seed}, feature {j}");
            if !self.plain.closed {
                let last = self.shipping.last_count(j as u8);
                assert_eq!(last, Some(plain.previous), "seed {seed}, feature {j}");
            }
            let (coins, settled) = (ledger.coins.count_ones() as usize, ledger.settled);
            assert_eq!((coins, settled), (plain.coin, plain.settled), "seed {seed}, feature {j}");
            let (share, before) = (ledger.coin.0, u32::from(ledger.before));
            assert!(
                share.abs_diff(plain.share) <= 1 && before.abs_diff(plain.share_before) <= 1,
                "seed {seed}: share {share} before {before}, not {} {}",
                plain.share,
                plain.share_before
            );
            near("P", ledger.p, plain.p);
            near("Q", ledger.q, plain.q);
            near("spent weight", ledger.spent, plain.spent);
            let (found, expected) = (self.shipping.estimate(j as u8), self.plain.estimate(j));
            assert_eq!(found.is_some(), expected.is_some(), "seed {seed}, feature {j}");
            if let (Some(found), Some(expected)) = (found, expected) {
                near("effect", found.effect.clamp(-1.0, 1.0), expected.effect);
                near("standard error", found.deviation, expected.error);
                near("patients", found.patients, self.plain.patients(j).max(0.0));
            }
        }
        // Both have used the same randomness.
        let [one, two] = &mut self.chances;
        assert_eq!(one.biased_coin(Fraction::HALF), two.biased_coin(Fraction::HALF), "seed {seed}");
    }
}

/// Features that settled before half and in all, before-windows read and forgotten, and estimates:
/// what the random trials exercise.
#[derive(Clone, Copy, Debug, Default)]
struct Exercised {
    early: u32,
    settled: u32,
    late: u32,
    forgotten: u32,
    estimates: u32,
}

fn compare_one(seed: u64) -> Exercised {
    let mut words = Xoshiro256PlusPlus::seed_from_u64(seed);
    let trial = RandomTrial::draw(&mut words);
    let mut pair = Pair::new(trial.plan, seed);
    let mut exercised = Exercised::default();
    let mut waiting: Vec<(usize, usize, usize)> = Vec::new();
    let mut next = 1;
    while next <= trial.enrolled || !waiting.is_empty() {
        let mut below = |limit: usize| (words.next_u64() % limit as u64) as usize;
        let enrols =
            waiting.is_empty() || waiting.len() < 500 && below(waiting.len() + 1) <= trial.waiting;
        if next <= trial.enrolled && enrols {
            let feature = below(trial.rates.len());
            let arm = pair.assign(feature);
            waiting.push((next, feature, arm));
            next += 1;
            continue;
        }
        let (patient, feature, arm) = waiting.swap_remove(below(waiting.len()));
        let mut share = || below(1 << 30) as f64 / f64::from(1 << 30);
        let y = (share() >= trial.lost[arm]).then(|| {
            let (scale, rate) = (trial.plan.scale(), trial.rates[feature][arm]);
            let y =
                if share() < 0.5 { f64::from(u8::from(share() < rate)) } else { rate * share() };
            (y * f64::from(scale)).round() as u16
        });
        let settled = |pair: &Pair| pair.plain.features.iter().filter(|f| f.settled).count() as u32;
        let before = settled(&pair);
        pair.resolve(patient, y);
        let now = settled(&pair) - before;
        exercised.settled += now;
        exercised.early += if pair.plain.resolved < trial.plan.half() { now } else { 0 };
        // An early close leaves some patients without an outcome.
        if next > trial.enrolled
            && trial.enrolled < trial.plan.patients() as usize
            && share() < 0.02
        {
            break;
        }
    }
    pair.close();
    (exercised.late, exercised.forgotten) = (pair.plain.late, pair.plain.forgotten);
    exercised.estimates =
        (0..trial.rates.len()).filter(|j| pair.plain.estimate(*j).is_some()).count() as u32;
    exercised
}

/// Thousands of random small trials, or as many as `EQUIPOISE_TRIALS` says: late, lost and graded
/// outcomes, reports, early closes. Every arm, share, weight, estimate and standard error agrees.
/// Requirement S5.
#[test]
fn shipping_code_agrees_with_transcription() {
    let trials = count::trials(6000);
    let sum =
        (0..trials).into_par_iter().map(compare_one).reduce(Exercised::default, |a, b| Exercised {
            early: a.early + b.early,
            settled: a.settled + b.settled,
            late: a.late + b.late,
            forgotten: a.forgotten + b.forgotten,
            estimates: a.estimates + b.estimates,
        });
    println!("{sum:?}");
    let enough = |seen: u32, of_6000: u64| u64::from(seen) * 6000 > of_6000 * trials;
    assert!(
        enough(sum.early, 500) && enough(sum.settled, 5000) && enough(sum.estimates, 10_000),
        "{sum:?}"
    );
    assert!(enough(sum.late, 200) && enough(sum.forgotten, 200), "{sum:?}");
}
