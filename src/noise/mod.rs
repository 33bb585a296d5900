//! Exact integer samplers.

/// An exact positive rational rate `num/den` of a Laplace law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Numerator, positive.
    pub num: u64,
    /// Denominator, positive.
    pub den: u64,
}

/// A discrete Laplace law, prepared for drawing.
#[derive(Clone, Debug)]
pub struct Laplace {
    rate: Rate,
}

impl Laplace {
    /// Prepares the law of this rate.
    #[must_use]
    pub const fn new(rate: Rate) -> Self {
        Self { rate }
    }

    /// The rate.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }
}
