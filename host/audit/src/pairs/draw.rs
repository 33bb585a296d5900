//! Pairs drawn at random.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::exact::{Patient, Record};
use super::{Arms, Others, Pair};
use equipoise::plan::{DesignName, Plan};
use equipoise::terms::Arm;

/// Random numbers of a pair.
struct Words(Xoshiro256PlusPlus);

impl Words {
    /// The plan of these words, with a direction, and results for some or for everybody.
    fn plan(&mut self, text: &str) -> Plan {
        let (better, results) =
            (self.one_of(&["high", "low"]), self.one_of(&["open", "open", "custodian", "close"]));
        let text = format!("{text} better={better} results={results}");
        Plan::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn below(&mut self, n: u32) -> u32 {
        self.0.next_u32() % n
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u32) as usize]
    }

    fn record(&mut self, plan: &Plan, features: &[u8]) -> Record {
        let scale = plan.scale();
        let feature = self.one_of(features);
        let outcome = (self.below(8) > 0).then(|| match self.below(3) {
            0 => 0,
            1 => scale,
            _ => self.below(u32::from(scale) + 1) as u16,
        });
        Record {
            patient: Patient { feature, outcome },
            arm: Some(Arm::from_bit(self.below(2) == 1)),
        }
    }
}

impl Pair {
    /// A pair of a design at an epsilon, of up to 620 patients; a function of the seed.
    ///
    /// # Panics
    /// The epsilon is not allowed.
    #[must_use]
    pub fn random(design: DesignName, epsilon: &str, seed: u64) -> Self {
        let mut words = Words(Xoshiro256PlusPlus::seed_from_u64(seed));
        // At epsilon 1 the first look falls at 88 patients a feature, and 3/2 of it must be below
        // half. The last three kinds have a look before half, two, and one of two features.
        let (features, patients, most) = match words.below(4) {
            0 => (1 + words.below(3), 4 + words.below(30), 20),
            1 => (1, 270 + words.below(60), 130),
            2 => (1, 540 + words.below(60), 260),
            _ => (2, 560 + words.below(60), 280),
        };
        let scale = words.one_of(&[1, 1, 2, 2, 10, 101]);
        let (reports, beta) = (words.below(4), words.one_of(&["1/20", "9/10"]));
        let alpha = words.below(4);
        let plan = words.plan(&format!(
            "design={design} features={features} patients={patients} epsilon={epsilon} \
             scale={scale} reports={reports} beta={beta} alpha={alpha}/4"
        ));
        let all: Vec<u8> = (0..plan.features()).collect();
        let records = [words.record(&plan, &all), words.record(&plan, &all)];
        let lag = words.one_of(&[0, 5, 40, 120]);
        let assigned = match words.below(3) {
            0 => patients.saturating_sub(words.below(most)).max(1),
            _ => patients,
        };
        Self {
            plan,
            // As many in the first quarter, where looks before half read them, as later.
            open: 1 + match words.below(2) {
                0 => words.below(assigned.div_ceil(4)),
                _ => words.below(assigned),
            },
            records,
            delay: if words.below(2) == 0 { lag } else { words.below(patients) },
            lag,
            others: words.one_of(&[Others::Vary, Others::FollowTheirArms, Others::Tie]),
            usual: 0,
            rare: words.one_of(&[2, 40]),
            assigned,
            probed: if patients > 100 { 8 } else { 4 },
            arms: Arms::Shown,
            eager: words.below(2) == 0,
            seed: seed ^ u64::from(words.below(u32::MAX)),
        }
    }

    /// A pair of a large trial: 4, 16 or 64 features, and more than 1,000 patients.
    ///
    /// At epsilon 8 the first look falls at 41 patients a feature. The trials of 4 and 16 features
    /// have a look before half. Those of 64 features look at half first, which reads every feature
    /// by its forecast; and as most patients are of the last feature, arms adapt there.
    ///
    /// # Panics
    /// The epsilon is not allowed.
    #[must_use]
    pub fn large(design: DesignName, epsilon: &str, seed: u64) -> Self {
        let mut words = Words(Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x1a46e));
        let (features, patients) = match seed % 3 {
            0 => (4, 1_100 + words.below(200)),
            1 => (16, 2_050 + words.below(100)),
            _ => (64, 3_300 + words.below(100)),
        };
        let (reports, beta) = (1 + words.below(2), words.one_of(&["1/20", "9/10"]));
        let alpha = words.below(4);
        let plan = words.plan(&format!(
            "design={design} features={features} patients={patients} epsilon={epsilon} \
             reports={reports} beta={beta} alpha={alpha}/4"
        ));
        let last = plan.features() - 1;
        let some = [0, last, last];
        let records = [words.record(&plan, &some), words.record(&plan, &some)];
        let lag = words.one_of(&[0, 5, 20]);
        Self {
            plan,
            // Before the first look, between it and half, or in the second half.
            open: 1 + words.below(patients / 4) + patients / 4 * words.below(4),
            records,
            delay: lag,
            lag,
            others: words.one_of(&[Others::Vary, Others::FollowTheirArms, Others::Tie]),
            usual: last,
            rare: words.one_of(&[2, 4]),
            assigned: patients - words.below(2) * words.below(40),
            probed: 32,
            arms: Arms::Shown,
            eager: words.below(2) == 0,
            seed: seed ^ u64::from(words.below(u32::MAX)),
        }
    }

    /// A pair of a blinded trial of up to 60 patients, whose reserve is used up.
    ///
    /// # Panics
    /// The epsilon is not allowed.
    #[must_use]
    pub fn blinded(design: DesignName, epsilon: &str, seed: u64) -> Self {
        let mut words = Words(Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xb11d));
        let (features, patients) = (1 + words.below(3), 20 + words.below(40));
        let kits = patients + 2 + words.below(6);
        let reports = words.below(2);
        let plan = words.plan(&format!(
            "design={design} features={features} patients={patients} epsilon={epsilon} kits={kits} \
             reports={reports}"
        ));
        let all: Vec<u8> = (0..plan.features()).collect();
        let records = [words.record(&plan, &all), words.record(&plan, &all)];
        let lag = words.one_of(&[2, 5, 20]);
        Self {
            plan,
            open: 1 + words.below(patients),
            records,
            delay: lag,
            lag,
            others: words.one_of(&[Others::Vary, Others::FollowTheirArms]),
            usual: 0,
            rare: 2,
            assigned: patients,
            probed: 4,
            arms: if seed.is_multiple_of(2) { Arms::Swapped } else { Arms::Shown },
            eager: false,
            seed: seed ^ u64::from(words.below(u32::MAX)),
        }
    }
}
