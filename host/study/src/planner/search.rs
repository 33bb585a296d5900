//! Bracketing by simulation: where a score crosses 0.
//!
//! A score is achieved minus wanted: at least 0 if the wish is met. Its scale, the normal quantile
//! of a power or the logarithm of a width, makes it nearly a straight line in the logarithm of the
//! unknown. Every candidate is simulated with the same patients (common random numbers), so the
//! score is smooth where the candidates are close.
//!
//! 1. Rough simulations, in growing steps from a guess, until two of them enclose 0.
//! 2. A fine one where the straight line between the two is 0, and another one where the line
//!    through it, with the same slope, is 0.
//! 3. The line through the last point gives the root. Its standard error is that of the score over
//!    the slope.
//! 4. The answer is held against fresh trials ([`hold`]): steps up until the score is at least 0
//!    there, steps down where it is clearly above. Chance and jumps of the score (an early look
//!    appears at some number of patients) would otherwise leave the wish short by up to twice the
//!    standard error.

/// How exact a simulation must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// To find a bracket.
    Rough,
    /// To give an answer.
    Fine,
}

/// Where a score is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Root {
    /// The place.
    pub at: f64,
    /// Slope of the score there.
    pub slope: f64,
}

/// First step from the guess, and the factor by which the steps grow.
const STEP: f64 = 0.25;
const GROWTH: f64 = 1.7;
/// Least slope that is believed; simulation noise can make a line flat.
const MIN_SLOPE: f64 = 0.05;

/// Finds where a growing score is 0 in `range`. The low end if it is above 0 everywhere, none if
/// it is below 0 everywhere.
///
/// # Errors
/// Errors of `score`.
pub fn solve<E>(
    range: [f64; 2],
    guess: f64,
    mut score: impl FnMut(f64, Effort) -> Result<f64, E>,
) -> Result<Option<Root>, E> {
    let [least, most] = range;
    let mut at = guess.clamp(least, most);
    let mut value = score(at, Effort::Rough)?;
    let (mut low, mut high, mut step) = (None, None, STEP);
    while low.is_none() || high.is_none() {
        if value < 0.0 {
            low = Some((at, value));
            if at >= most {
                return Ok(None);
            }
            at = if high.is_some() { at } else { f64::min(at + step, most) };
        } else {
            high = Some((at, value));
            if at <= least {
                return Ok(Some(Root { at: least, slope: MIN_SLOPE }));
            }
            at = if low.is_some() { at } else { f64::max(at - step, least) };
        }
        if low.is_none() || high.is_none() {
            value = score(at, Effort::Rough)?;
            step *= GROWTH;
        }
    }
    let (Some((x0, y0)), Some((x1, y1))) = (low, high) else { return Ok(None) };
    let slope = f64::max((y1 - y0) / (x1 - x0), MIN_SLOPE);
    let inside = |x: f64| x.clamp(x0.min(x1) - STEP, x0.max(x1) + STEP).clamp(least, most);
    let first = inside(x0 - y0 / slope);
    let fine = score(first, Effort::Fine)?;
    let second = inside(first - fine / slope);
    let finer = score(second, Effort::Fine)?;
    // Two points that are far enough apart say more about the slope here than the bracket does.
    let here = (finer - fine) / (second - first);
    let slope = if (second - first).abs() > 0.1 { f64::max(here, MIN_SLOPE) } else { slope };
    Ok(Some(Root { at: inside(second - finer / slope), slope }))
}

/// Least step of [`hold`], and the factor by which steps up grow.
const LEAST: f64 = 0.003;
const FASTER: f64 = 1.5;
/// Standard errors by which a score may exceed 0 without a step down.
const ENOUGH: f64 = 1.5;
/// Most steps down.
const DOWN: usize = 3;

/// Start of [`hold`]: a root, the slope of the score, its standard error, and the least step that
/// makes a difference.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The root.
    pub at: f64,
    /// The slope.
    pub slope: f64,
    /// The standard error of a score.
    pub error: f64,
    /// The least step.
    pub step: f64,
}

/// The least place near a root at which a score is at least 0, with what came with the score; none
/// if it is below 0 up to the end of the range.
///
/// # Errors
/// Errors of `score`.
pub fn hold<T, E>(
    range: [f64; 2],
    start: Start,
    mut score: impl FnMut(f64) -> Result<(f64, T), E>,
) -> Result<Option<(f64, T)>, E> {
    let [least, most] = range;
    let Start { mut at, slope, error, step } = start;
    let (mut held, mut downs, mut up) = (None, 0, f64::max(LEAST, step));
    loop {
        let (value, found) = score(at)?;
        // Half a standard error above 0, so that the next step is likely to be the last.
        let ahead = (value - error / 2.0) / slope;
        if value >= 0.0 {
            held = Some((at, found));
            let next = f64::max(at - ahead, least);
            let is_worth_it = value > ENOUGH * error && at - next >= step;
            if downs == DOWN || !is_worth_it {
                return Ok(held);
            }
            (at, downs) = (next, downs + 1);
        } else if held.is_some() || at >= most {
            return Ok(held);
        } else {
            at = f64::min(at + f64::max(-ahead, up), most);
            up *= FASTER;
        }
    }
}

/// The first place of a list in which `good` finds something, if it does in all later ones too.
///
/// # Errors
/// Errors of `good`.
pub fn first_good<T, G, E>(
    list: &[T],
    mut good: impl FnMut(&T) -> Result<Option<G>, E>,
) -> Result<Option<G>, E> {
    let (mut low, mut high, mut found) = (0, list.len(), None);
    while low < high {
        let middle = low.midpoint(high);
        match good(&list[middle])? {
            Some(candidate) => {
                high = middle;
                found = Some(candidate);
            }
            None => low = middle + 1,
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place that falls short is left upwards, also over a jump down; one with far too much is
    /// left downwards as long as the score holds; without any there is none.
    #[test]
    fn answers_hold_in_fresh_trials() {
        let sawtooth = |x: f64| if x < 4.1 { x - 4.0 } else { x - 4.15 };
        let start = |at| Start { at, slope: 1.0, error: 0.01, step: 0.001 };
        let mut asked = 0;
        let mut found = |at: f64, shift: f64, range: [f64; 2]| {
            asked = 0;
            let score = |x: f64| {
                asked += 1;
                Ok::<_, ()>((sawtooth(x) + shift, x))
            };
            let found = hold(range, start(at), score).unwrap();
            (found.map(|(at, seen)| if at == seen { at } else { f64::NAN }), asked)
        };
        let wide = [0.0, 10.0];
        for (from, shift, least, most, steps) in [
            (4.0, 0.0, 4.0, 4.0, 1),
            (3.98, 0.0, 4.0, 4.01, 2),
            (4.09, -0.1, 4.25, 4.27, 4),
            (4.5, 0.0, 4.15, 4.16, 3),
            (4.01, 0.0, 4.01, 4.01, 1),
        ] {
            let (at, asked) = found(from, shift, wide);
            assert!(at.is_some_and(|at| (least..=most).contains(&at)), "{from} {at:?}");
            assert!(asked <= steps, "{from}: {asked}");
        }
        assert_eq!(found(3.0, 0.0, [2.0, 3.9]).0, None);
        assert_eq!(found(5.0, 3.0, [4.9, 9.0]).0, Some(4.9));
    }

    /// From guesses on either side, and where there is no root.
    #[test]
    fn a_root_is_found_from_far_away() {
        let score = |x: f64, _| Ok::<_, ()>(3.0 * (x - 4.0) + 0.02 * (40.0 * x).sin());
        for guess in [0.5, 3.9, 9.0] {
            let root = solve([0.0, 10.0], guess, score).unwrap().unwrap();
            assert!((root.at - 4.0).abs() < 0.01, "{guess} {root:?}");
        }
        assert_eq!(solve([0.0, 3.0], 1.0, score), Ok(None));
        assert_eq!(solve([5.0, 9.0], 8.0, score).unwrap().unwrap().at, 5.0);
        let ladder = [1, 2, 3, 4, 5];
        assert_eq!(first_good(&ladder, |x| Ok::<_, ()>((*x >= 4).then_some(*x))), Ok(Some(4)));
        assert_eq!(first_good(&ladder, |_| Ok::<Option<i32>, ()>(None)), Ok(None));
    }
}
