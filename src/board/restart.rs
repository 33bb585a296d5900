//! Why the board started, from what the chip and the fault handlers left behind.

use crate::wire::Restart;

/// Reset reasons as a chip reports them. Several may be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// A fault handler of this firmware left its mark: a panic, a fault or a stray interrupt.
    pub marked: bool,
    /// The reset pin.
    pub pin: bool,
    /// The watchdog.
    pub watchdog: bool,
    /// A reset by software or by a debugger.
    pub software: bool,
    /// The processor locked up.
    pub lockup: bool,
}

impl Reasons {
    /// The restart cause that `HELLO` reports.
    ///
    /// The pin goes before the chip's other reasons: on the nRF52 a pin reset may set any of them
    /// (anomaly 136). The handlers' mark goes before the pin, because only a handler writes it.
    #[must_use]
    pub const fn cause(self) -> Restart {
        match self {
            Self { marked: true, .. } => Restart::Fault,
            Self { pin: true, .. } => Restart::Reset,
            Self { lockup: true, .. } => Restart::Fault,
            Self { watchdog: true, .. } => Restart::Watchdog,
            Self { software: true, .. } => Restart::Reset,
            _ => Restart::Power,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Reasons =
        Reasons { marked: false, pin: false, watchdog: false, software: false, lockup: false };

    #[test]
    fn each_reason_alone_has_its_cause() {
        assert_eq!(NONE.cause(), Restart::Power);
        assert_eq!(Reasons { pin: true, ..NONE }.cause(), Restart::Reset);
        assert_eq!(Reasons { software: true, ..NONE }.cause(), Restart::Reset);
        assert_eq!(Reasons { watchdog: true, ..NONE }.cause(), Restart::Watchdog);
        assert_eq!(Reasons { lockup: true, ..NONE }.cause(), Restart::Fault);
        // A handler marks and then resets by software.
        assert_eq!(Reasons { marked: true, software: true, ..NONE }.cause(), Restart::Fault);
    }

    /// Anomaly 136 of the nRF52: a pin reset may set any other bit of RESETREAS.
    #[test]
    fn pin_reset_ignores_other_reset_bits() {
        for bits in 0..8 {
            let reasons = Reasons {
                marked: false,
                pin: true,
                watchdog: bits & 1 != 0,
                software: bits & 2 != 0,
                lockup: bits & 4 != 0,
            };
            assert_eq!(reasons.cause(), Restart::Reset, "{reasons:?}");
        }
    }
}
