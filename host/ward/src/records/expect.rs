//! The effect that a trial was planned for, `[expect]` in the trial file: `check` and `provision`
//! say if the trial is too small to see it.

use serde::Deserialize;

/// Expected mean outcomes, as shares of the scale.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Mean outcome under arm 0.
    pub baseline: f64,
    /// Mean outcome under arm 1 less that under arm 0.
    pub effect: f64,
}

impl Expect {
    /// Checks that both means are possible and that they differ.
    ///
    /// # Errors
    /// The values and what is allowed.
    pub fn check(self) -> Result<Self, String> {
        let Self { baseline, effect } = self;
        let possible = |mean: f64| (0.0..=1.0).contains(&mean);
        if effect == 0.0 || !possible(baseline) || !possible(baseline + effect) {
            return Err(format!(
                "baseline {baseline} and effect {effect}, allowed an effect that is not 0, and baseline and baseline + \
                 effect in 0..=1"
            ));
        }
        Ok(self)
    }
}
