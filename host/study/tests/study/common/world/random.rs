//! Settings drawn at random from everything that the interval is promised for: 250 to 20,000
//! patients and at least 50 expected in the rarest feature, 1 to 64 features, epsilon 1/5 to 8,
//! rates from 0.02 to 0.98, losses, late outcomes, drifts and steps, arrivals that change tenfold,
//! graded outcomes, planned reports, early closes, in any combination.

use super::{Arrivals, Setting};
use rand_core::Rng;

/// Expected patients of the rarest feature, at least.
const MIN_PATIENTS: f64 = 50.0;

/// The next setting with enough patients. Recording does not depend on the outcome.
pub fn setting(words: &mut impl Rng) -> Setting {
    loop {
        let setting = any_setting(words);
        if rarest(&setting) >= MIN_PATIENTS {
            return setting;
        }
    }
}

fn any_setting(words: &mut impl Rng) -> Setting {
    let mut below = |limit: usize| (words.next_u64() % limit as u64) as usize;
    let features = [1, 1, 2, 4, 8, 10, 20, 64][below(8)];
    let most = 20_000.0 / (50 * features) as f64;
    let share = below(1001) as f64 / 1000.0;
    let patients = (50.0 * features as f64 * most.powf(share)).round().max(250.0);
    let reports = if below(2) == 0 { 0 } else { 1 + below(8) };
    let scale = [1, 1, 1, 2, 4, 10, 100][below(7)];
    let plan = format!(
        "design={} features={features} patients={patients} scale={scale} reports={reports} alpha={} \
         epsilon={} beta={}",
        ["interim", "interim", "interim", "interim", "uniform"][below(5)],
        ["0", "1/10", "1/4", "1/4", "1/2"][below(5)],
        ["1/5", "1/2", "1", "1", "2", "4", "8"][below(7)],
        ["1/20", "1/20", "1/100", "1/5"][below(4)],
    );
    let base: f64 = [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.98][below(10)];
    let gap = [0.0, 0.0, 0.02, 0.05, 0.1, 0.2, 0.3][below(7)];
    let other = if base + gap > 0.98 { base - gap } else { base + gap };
    let rates = if below(2) == 0 { [base, other] } else { [other, base] };
    // Drift and step leave every rate within 0.02..=0.98.
    let (low, high) = (base.min(other) - 0.02, 0.98 - base.max(other));
    let mut change = || match below(4) {
        0 => high.min(0.3) / 2.0,
        1 => -low.min(0.3) / 2.0,
        _ => 0.0,
    };
    let (drift, step) = (change(), change());
    let longest = patients as usize / 5;
    let delay = match below(4) {
        0 => [longest / 2, longest / 2],
        1 => [longest, longest],
        2 => [0, longest],
        _ => [0, 0],
    };
    Setting {
        mirrored: below(3) == 0,
        drift,
        step,
        delay,
        lost: [[0.0, 0.0], [0.0, 0.0], [0.3, 0.0], [0.0, 0.3], [0.2, 0.2]][below(5)],
        arrivals: match below(4) {
            0 | 1 => Arrivals::Even,
            2 => Arrivals::Zipf,
            _ => Arrivals::Tenfold,
        },
        coins: if scale == 1 { 1 } else { [1, 4, 12][below(3)] },
        enrolled: if below(4) == 0 { 0.3 + 0.1 * below(7) as f64 } else { 1.0 },
        ..Setting::new(&plan, rates)
    }
}

/// Patients of the rarest feature, expected.
fn rarest(setting: &Setting) -> f64 {
    let m = usize::from(setting.plan.features());
    let n = f64::from(setting.plan.patients());
    let weights = (1..=m).map(|j| 1.0 / j as f64).sum::<f64>();
    let (before, after) = (setting.enrolled.min(0.5), (setting.enrolled - 0.5).max(0.0));
    let share = match setting.arrivals {
        Arrivals::Even => setting.enrolled / m as f64,
        Arrivals::Zipf => setting.enrolled / (m as f64 * weights),
        Arrivals::Tenfold if m == 1 => setting.enrolled,
        // M is even, and 5.5 the mean of the weights 1 and 10.
        Arrivals::Tenfold => {
            f64::min(10.0 * before + after, before + 10.0 * after) / (5.5 * m as f64)
        }
    };
    n * share
}

/// Everything that tells a setting from others.
pub fn describe(s: &Setting) -> String {
    let mirrored = if s.mirrored { " mirrored" } else { "" };
    format!(
        "{}, rates {:.2}/{:.2}{mirrored}, drift {:.2}, step {:.2}, late {}..{}, lost {}/{}, {:?}, {} coins, \
         closed at {:.1}",
        s.plan,
        s.rates[0],
        s.rates[1],
        s.drift,
        s.step,
        s.delay[0],
        s.delay[1],
        s.lost[0],
        s.lost[1],
        s.arrivals,
        s.coins,
        s.enrolled
    )
}
