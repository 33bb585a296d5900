//! Risk ratio and odds ratio of yes/no outcomes, from what a report carries already.
//!
//! The difference D of the means is estimated with an interval that allows for the noise and for
//! coins that follow the evidence; the pooled means of the arms are not, and their quotient would
//! inherit their bias. So the ratios are made of D and of one more number that is nearly free of
//! it: q, the mean of both arms weighted by their precision, which is uncorrelated with their
//! difference. With l_a the weights of q, the arms' means are p_1 = q + l_0 D and p_0 = q - l_1 D,
//! and the logarithm of a ratio is a function of D and q.
//!
//! An end of the interval lies sqrt(d^2 + s^2) from the estimate, on the logarithmic scale: d is
//! the distance to the ratio at D's own end, s is 1.96 standard errors of q times the slope in q at
//! that end. Where D's end is 0 the slope is 0, so the interval of a ratio excludes 1 just where
//! that of D excludes 0. At an end of D that would carry a mean beyond 0 or 1, that mean stops
//! there and the other goes on, which is on the wide side; if the ratio's logarithm is infinite
//! then, the end is 0 or infinite.
//!
//! The variance of an arm's mean p over N outcomes in k windows is p (1-p)/N + k v (p^2 +
//! (1-p)^2)/N^2, with v the variance of one draw: noise was added to every cell at every reading.

use equipoise::estimate::{Basis, Z95};
use equipoise::plan::Plan;

/// A ratio with its 95 % interval. An upper end may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The estimate.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Both ratios of a feature, arm 1 over arm 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratios {
    /// Of the probabilities of the outcome.
    pub risk: Ratio,
    /// Of their odds.
    pub odds: Ratio,
}

/// A ratio's logarithm at means p_0 and p_1, and its slope in each of them.
struct Scale {
    log: fn(f64) -> f64,
    slope: fn(f64) -> f64,
}

const RISK: Scale = Scale { log: f64::ln, slope: |p| 1.0 / p };
const ODDS: Scale = Scale { log: |p| (p / (1.0 - p)).ln(), slope: |p| 1.0 / (p * (1.0 - p)) };

/// The variance of one draw of noise, in outcomes: that of a discrete Laplace variable of rate
/// epsilon/(2uY), over (uY)^2, with u = Y up to 100 and 1 above.
#[must_use]
pub fn draw_variance(plan: &Plan) -> f64 {
    let scale = f64::from(plan.scale());
    let weight = if scale <= 100.0 { scale * scale } else { scale };
    let less = (-plan.epsilon().to_f64() / (2.0 * weight)).exp_m1();
    2.0 * (1.0 + less) / (less * weight).powi(2)
}

/// The means of the arms as a function of the difference D.
struct Line {
    q: f64,
    q_error: f64,
    weights: [f64; 2],
    /// The closest that a mean may come to 0 and 1 in an estimate.
    margins: [f64; 2],
}

impl Line {
    fn new(plan: &Plan, basis: &Basis) -> Self {
        let noise = f64::from(basis.windows) * draw_variance(plan);
        let margins = basis.arms.map(|arm| 1.0 / (arm.outcomes + 2.0));
        let arm = |place: usize| {
            let (arm, margin) = (basis.arms[place], margins[place]);
            let (p, n) = (arm.mean.clamp(margin, 1.0 - margin), arm.outcomes.max(1.0));
            let variance = p * (1.0 - p) / n + noise * (p * p + (1.0 - p) * (1.0 - p)) / (n * n);
            (p, variance)
        };
        let ((p0, v0), (p1, v1)) = (arm(0), arm(1));
        let weights = [v1 / (v0 + v1), v0 / (v0 + v1)];
        let q = weights[0] * p0 + weights[1] * p1;
        Self { q, q_error: (v0 * v1 / (v0 + v1)).sqrt(), weights, margins }
    }

    fn means(&self, d: f64) -> [f64; 2] {
        [self.q - self.weights[1] * d, self.q + self.weights[0] * d]
    }

    fn ratio(&self, scale: &Scale, d: f64, error: f64) -> Ratio {
        let [m0, m1] = self.margins;
        let [p0, p1] = self.means(d);
        let [p0, p1] = [p0.clamp(m0, 1.0 - m0), p1.clamp(m1, 1.0 - m1)];
        let middle = (scale.log)(p1) - (scale.log)(p0);
        let end = |side: f64| {
            let [p0, p1] = self.means(d + side * Z95 * error).map(|p| p.clamp(0.0, 1.0));
            let log = (scale.log)(p1) - (scale.log)(p0);
            if !log.is_finite() {
                return side * f64::INFINITY;
            }
            let slope = (scale.slope)(p1) - (scale.slope)(p0);
            let distance = (log - middle).hypot(Z95 * self.q_error * slope);
            middle + side * distance
        };
        Ratio { estimate: middle.exp(), low: end(-1.0).exp(), high: end(1.0).exp() }
    }
}

/// The ratios of a feature of a trial with yes/no outcomes, from the difference of its means and
/// its standard error. None for graded outcomes, and where an arm has no outcomes.
#[must_use]
pub fn ratios(plan: &Plan, difference: f64, error: f64, basis: &Basis) -> Option<Ratios> {
    if plan.scale() > 1 || basis.arms.iter().any(|arm| arm.outcomes < 1.0) {
        return None;
    }
    let line = Line::new(plan, basis);
    let of = |scale: &Scale| line.ratio(scale, difference, error);
    Some(Ratios { risk: of(&RISK), odds: of(&ODDS) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use equipoise::estimate::ArmBasis;

    fn basis(arms: [(f64, f64); 2]) -> Basis {
        let arms = arms.map(|(outcomes, mean)| ArmBasis { outcomes, mean });
        Basis { spent: 1.0, half_spent: 0.5, looks: 1, windows: 1, arms }
    }

    /// 300 of 1,000 against 200 of 1,000, hardly any noise: the textbook's intervals.
    #[test]
    fn ratios_without_noise_are_the_textbook_s() {
        let plan = Plan::parse("features=1 patients=2000 epsilon=20 better=high").unwrap();
        let error = f64::sqrt(0.2 * 0.8 / 1000.0 + 0.3 * 0.7 / 1000.0);
        let found = ratios(&plan, 0.1, error, &basis([(1000.0, 0.2), (1000.0, 0.3)])).unwrap();
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 0.02, "{a} {b}");
        near(found.risk.estimate, 1.5);
        let half = Z95 * f64::sqrt(0.8 / 200.0 + 0.7 / 300.0);
        near(found.risk.low, 1.5 * (-half).exp());
        near(found.risk.high, 1.5 * half.exp());
        near(found.odds.estimate, (0.3 / 0.7) / (0.2 / 0.8));
        let half = Z95 * f64::sqrt(1.0 / 200.0 + 1.0 / 800.0 + 1.0 / 300.0 + 1.0 / 700.0);
        near(found.odds.low, found.odds.estimate * (-half).exp());
        near(found.odds.high, found.odds.estimate * half.exp());
    }

    /// A ratio excludes 1 just where the difference excludes 0; more noise makes it wider; graded
    /// outcomes have none.
    #[test]
    fn ratios_agree_with_the_difference() {
        let plan = Plan::parse("features=1 patients=2000 epsilon=1 better=high").unwrap();
        let arms = basis([(400.0, 0.2), (900.0, 0.3)]);
        for (error, excludes) in [(0.1 / Z95 * 0.999, true), (0.1 / Z95 * 1.001, false)] {
            let Ratios { risk, odds } = ratios(&plan, 0.1, error, &arms).unwrap();
            assert_eq!((risk.low > 1.0, odds.low > 1.0), (excludes, excludes), "{risk:?} {odds:?}");
            assert!(risk.low < risk.estimate && risk.estimate < risk.high, "{risk:?}");
        }
        let noisy = Basis { windows: 9, ..arms };
        let width = |basis: &Basis| {
            let risk = ratios(&plan, 0.1, 0.02, basis).unwrap().risk;
            risk.high / risk.low
        };
        assert!(width(&noisy) > width(&arms));
        let graded =
            Plan::parse("features=1 patients=2000 epsilon=1 scale=10 better=high").unwrap();
        assert_eq!(ratios(&graded, 0.1, 0.02, &arms), None);
        assert_eq!(ratios(&plan, 0.1, 0.02, &basis([(0.0, 0.0), (9.0, 0.3)])), None);
    }

    /// A difference so uncertain that one of its ends needs a mean below 0, by hand.
    ///
    /// 80 of 400 against 270 of 900, D = 0.1 with a standard error of 0.3, epsilon 1, one window.
    /// v = 2 e^-0.5/(1 - e^-0.5)^2 = 7.835396. The means have variances
    /// 0.2 * 0.8/400 + 0.68 v/400^2 = 4.333004e-4 and 0.3 * 0.7/900 + 0.58 v/900^2 = 2.389439e-4,
    /// so l_0 = 0.355442, l_1 = 0.644558, q = 0.2 l_0 + 0.3 l_1 = 0.264456, of standard error
    /// 0.0124102. D's interval is 0.1 -+ 0.587989.
    /// * At D = 0.687989 p_0 would be q - l_1 D = -0.178993: p_0 reaches 0 within the interval, at
    ///   D = 0.410290, where p_1 is 0.41. Nothing bounds either ratio from above.
    /// * At D = -0.487989 both means are possible, p_0 = 0.578993 and p_1 = 0.091004: q says that
    ///   p_1 is not 0, and **neither ratio reaches down to 0**. Logarithm of the risk ratio there
    ///   -1.850388, of 1.5 0.405465, so d = 2.255853; s = 1.959964 * 0.0124102 (1/p_1 - 1/p_0) =
    ///   0.225270; end 0.405465 - sqrt(d^2 + s^2) = -1.861608. Odds: -2.620079 and 0.538997, d =
    ///   3.159076, s = 1.959964 * 0.0124102 (1/(p_1 (1-p_1)) - 1/(p_0 (1-p_0))) = 0.194254, end
    ///   -2.626046.
    ///
    /// With the arms exchanged every ratio is its inverse, so there the lower ends are 0.
    #[test]
    fn ends_without_a_possible_mean_are_0_or_infinite() {
        let plan = Plan::parse("features=1 patients=2000 epsilon=1 better=high").unwrap();
        let arms = [(400.0, 0.2), (900.0, 0.3)];
        let found = ratios(&plan, 0.1, 0.3, &basis(arms)).unwrap();
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 2e-6, "{a} {b}");
        let [other, one] = arms;
        let turned = ratios(&plan, -0.1, 0.3, &basis([one, other])).unwrap();
        for (ratio, turned, estimate, low) in [
            (found.risk, turned.risk, 1.5, f64::exp(-1.861_608)),
            (found.odds, turned.odds, 12.0 / 7.0, f64::exp(-2.626_046)),
        ] {
            near(ratio.estimate, estimate);
            near(ratio.low, low);
            assert_eq!(ratio.high, f64::INFINITY);
            near(turned.estimate, 1.0 / estimate);
            assert_eq!(turned.low, 0.0);
            near(turned.high, 1.0 / low);
        }
    }
}
