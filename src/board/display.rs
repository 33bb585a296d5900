//! The LEDs: pictures of 5 x 5, which one is shown when, and a matrix scanned through
//! `embedded_hal` pins.
//!
//! A picture is 25 bits, bit 5 * y + x for the LED in column x of row y. The main loop shows a
//! picture at every tick of 4 ms and a matrix lights one wired row each time: three rows make 12 ms
//! a frame, five rows 20 ms.

use super::Screen;
use crate::terms::Arm;
use crate::wire::State;
use core::convert::Infallible;
use embedded_hal::digital::{ErrorType, OutputPin};

/// Nothing lit.
pub const DARK: u32 = 0;
/// Arm 0: a ring.
pub const ARM_0: u32 = picture([0b01110, 0b10001, 0b10001, 0b10001, 0b01110]);
/// Arm 1: a bar.
pub const ARM_1: u32 = picture([0b00100, 0b01100, 0b00100, 0b00100, 0b01110]);
/// A kit was given, of whichever arm: a box.
pub const KIT: u32 = picture([0b11111, 0b10001, 0b10101, 0b10001, 0b11111]);
/// The heartbeat, in the middle.
pub const HEART: u32 = picture([0, 0, 0b00100, 0, 0]);
/// A cross: the device is in `fault` or holds the state of another firmware, and assigns nobody.
pub const FAULT: u32 = picture([0b10001, 0b01010, 0b00100, 0b01010, 0b10001]);

/// Rows from the top, each as it looks in binary.
const fn picture(rows: [u8; 5]) -> u32 {
    let [a, b, c, d, e] = rows;
    mirror(a) | mirror(b) << 5 | mirror(c) << 10 | mirror(d) << 15 | mirror(e) << 20
}

const fn mirror(row: u8) -> u32 {
    (row.reverse_bits() >> 3) as u32
}

/// Ticks of [`super::main_loop::TICK_MICROSECONDS`] in a second, the period of the heartbeat.
const SECOND: u32 = 1_000_000 / super::main_loop::TICK_MICROSECONDS;
/// How long an arm or a kit is shown.
const GIVEN_SHOWN: u32 = 10 * SECOND;

/// Which picture is shown: the arm or kit just given, else a heartbeat, or a cross in `fault`.
#[derive(Clone, Debug, Default)]
pub struct Display {
    /// The picture of what was given; dark if it is over.
    given: u32,
    ticks: u32,
}

impl Display {
    /// A patient was given this arm.
    pub const fn show_arm(&mut self, arm: Arm) {
        *self = Self { given: arm.of([ARM_0, ARM_1]), ticks: 0 };
    }

    /// A patient was given a kit.
    pub const fn show_kit(&mut self) {
        *self = Self { given: KIT, ticks: 0 };
    }

    /// The picture of the next tick.
    pub fn tick(&mut self, state: State) -> u32 {
        self.ticks = self.ticks.wrapping_add(1);
        if matches!(state, State::Fault | State::Foreign) {
            return FAULT;
        }
        if self.given != DARK && self.ticks < GIVEN_SHOWN {
            return self.given;
        }
        self.given = DARK;
        if self.ticks % SECOND < SECOND / 8 { HEART } else { DARK }
    }
}

/// A pin whose LED lights when it is low: high and low change places. For the columns of a matrix
/// whose rows light when high, and for a single LED ([`Lamp`]) between the supply and its pin.
pub struct Inverted<P>(pub P);

impl<P: OutputPin> ErrorType for Inverted<P> {
    type Error = P::Error;
}

impl<P: OutputPin> OutputPin for Inverted<P> {
    fn set_low(&mut self) -> Result<(), P::Error> {
        self.0.set_high()
    }

    fn set_high(&mut self) -> Result<(), P::Error> {
        self.0.set_low()
    }
}

/// A matrix as it is wired: `R` rows that are high when selected, `C` columns that light when low.
pub struct Matrix<P, const R: usize, const C: usize> {
    rows: [P; R],
    columns: [Inverted<P>; C],
    /// Where each wired LED sits in the picture; 25 where there is none.
    map: &'static [[u8; C]; R],
    next: usize,
}

impl<P: OutputPin<Error = Infallible>, const R: usize, const C: usize> Matrix<P, R, C> {
    /// A matrix of these pins.
    pub fn new(rows: [P; R], columns: [P; C], map: &'static [[u8; C]; R]) -> Self {
        Self { rows, columns: columns.map(Inverted), map, next: 0 }
    }
}

impl<P: OutputPin<Error = Infallible>, const R: usize, const C: usize> Screen for Matrix<P, R, C> {
    fn show(&mut self, picture: u32) {
        for row in &mut self.rows {
            let Ok(()) = row.set_low();
        }
        self.next = (self.next + 1) % R;
        let (Some(row), Some(leds)) = (self.rows.get_mut(self.next), self.map.get(self.next))
        else {
            return;
        };
        for (column, led) in self.columns.iter_mut().zip(leds) {
            let lit = picture & (1 << led) != 0;
            let Ok(()) = column.set_state(lit.into());
        }
        let Ok(()) = row.set_high();
    }
}

/// A board with one LED: the heartbeat blinks as it does elsewhere, arm 0 or a kit lights steadily,
/// arm 1 blinks slowly and evenly, a fault flickers.
pub struct Lamp<P> {
    led: P,
    ticks: u32,
}

/// On for so many ticks and off for as many: two blinks a second, and eight.
const SLOW: u32 = SECOND / 4;
const FAST: u32 = SECOND / 16;

impl<P: OutputPin<Error = Infallible>> Lamp<P> {
    /// A lamp on this pin, which lights when high.
    pub const fn new(led: P) -> Self {
        Self { led, ticks: 0 }
    }
}

impl<P: OutputPin<Error = Infallible>> Screen for Lamp<P> {
    fn show(&mut self, picture: u32) {
        self.ticks = self.ticks.wrapping_add(1);
        let lit = match picture {
            ARM_1 => (self.ticks / SLOW).is_multiple_of(2),
            FAULT => (self.ticks / FAST).is_multiple_of(2),
            other => other != DARK,
        };
        let Ok(()) = self.led.set_state(lit.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use std::rc::Rc;
    use std::vec::Vec;

    #[test]
    fn arm_shows_ten_seconds_then_heartbeat() {
        let mut display = Display::default();
        for (arm, picture) in [(Some(Arm::Zero), ARM_0), (Some(Arm::One), ARM_1), (None, KIT)] {
            match arm {
                Some(arm) => display.show_arm(arm),
                None => display.show_kit(),
            }
            for _ in 1..GIVEN_SHOWN {
                assert_eq!(display.tick(State::Running), picture);
            }
            let second: Vec<u32> = (0..SECOND).map(|_| display.tick(State::Running)).collect();
            assert_eq!(
                second.iter().filter(|shown| **shown == HEART).count(),
                (SECOND / 8) as usize
            );
            assert!(second.iter().all(|shown| [HEART, DARK].contains(shown)));
        }
        display.show_arm(Arm::One);
        assert_eq!(display.tick(State::Fault), FAULT);
    }

    struct Pin(usize, Rc<RefCell<Vec<bool>>>);
    impl ErrorType for Pin {
        type Error = Infallible;
    }
    impl OutputPin for Pin {
        fn set_low(&mut self) -> Result<(), Infallible> {
            self.1.borrow_mut()[self.0] = false;
            Ok(())
        }
        fn set_high(&mut self) -> Result<(), Infallible> {
            self.1.borrow_mut()[self.0] = true;
            Ok(())
        }
    }

    /// A scan of all rows lights exactly the LEDs of the picture, on a matrix with a gap.
    #[test]
    fn matrix_lights_the_picture() {
        const MAP: [[u8; 3]; 2] = [[0, 2, 25], [12, 24, 4]];
        let levels = Rc::new(RefCell::new(std::vec![false; 5]));
        let pin = |number| Pin(number, levels.clone());
        let mut matrix = Matrix::new([0, 1].map(pin), [2, 3, 4].map(pin), &MAP);
        for picture in [DARK, HEART, FAULT, ARM_0] {
            let mut lit = BTreeSet::new();
            for _ in 0..2 {
                matrix.show(picture);
                let levels = levels.borrow();
                for (row, leds) in MAP.iter().enumerate() {
                    let on =
                        leds.iter().zip(&levels[2..]).filter(|(_, high)| levels[row] && !**high);
                    lit.extend(on.map(|(led, _)| *led));
                }
            }
            let expected = MAP.as_flattened().iter().copied().filter(|led| picture >> led & 1 != 0);
            assert_eq!(lit, expected.collect());
        }
    }

    /// One LED tells heartbeat, arm 0, arm 1 and fault apart: how often it changes in a second, and
    /// how long it is lit.
    #[test]
    fn lamp_tells_pictures_apart() {
        let levels = Rc::new(RefCell::new(std::vec![false]));
        let mut lamp = Lamp::new(Pin(0, levels.clone()));
        let mut second = |mut picture: Box<dyn FnMut() -> u32>| {
            let shown = (0..SECOND).map(|_| {
                lamp.show(picture());
                levels.borrow()[0]
            });
            let shown: Vec<bool> = shown.collect();
            let changes = shown.windows(2).filter(|pair| pair[0] != pair[1]).count();
            (changes, shown.iter().filter(|lit| **lit).count() * 100 / SECOND as usize)
        };
        assert_eq!(second(Box::new(|| DARK)), (0, 0));
        assert_eq!(second(Box::new(|| ARM_0)), (0, 100));
        let (changes, lit) = second(Box::new(|| ARM_1));
        assert!((3..=5).contains(&changes) && (45..=55).contains(&lit), "{changes} {lit}");
        let (changes, lit) = second(Box::new(|| FAULT));
        assert!((15..=17).contains(&changes) && (45..=55).contains(&lit), "{changes} {lit}");
        let mut display = Display::default();
        let (changes, lit) = second(Box::new(move || display.tick(State::Running)));
        assert!((1..=2).contains(&changes) && (10..=15).contains(&lit), "{changes} {lit}");
    }
}
