//! Cells: what a feature keeps of its outcomes, per arm.
//!
//! With Y the largest outcome, u = Y for Y <= 100 and u = 1 above, an outcome y has the *spread*
//! f = floor(u y (Y-y) / Y). It adds u y - f to cell E of its arm, 2 f to F and u (Y-y) - f to G.
//! No amount is negative and the three add up to u Y, so that F costs no privacy: an outcome
//! changes the cells by u Y in all, whatever it is. For yes/no outcomes (Y = 1) the spread is 0: F
//! is not kept and gets no noise.
//!
//! Read back, in units of 1/u: E + F/2 is the sum of outcomes, F/2 the sum of y (Y-y)/Y, and
//! E + F + G is Y times the number of outcomes.

use super::Arm;
use crate::chance::Chance;
use crate::codec::{Reader, Writer};
use crate::noise::Laplace;
use crate::plan::Plan;

/// Outcome scales up to this one are counted in units of 1/Y, which makes the spread exact.
const MAX_FINE_SCALE: u16 = 100;

/// The unit in which a plan's outcomes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Y.
    scale: u16,
    /// u.
    fine: u16,
}

impl Unit {
    /// The unit of a plan.
    pub const fn of(plan: &Plan) -> Self {
        let scale = plan.scale();
        Self { scale, fine: if scale <= MAX_FINE_SCALE { scale } else { 1 } }
    }

    /// u Y: by how much one outcome changes the cells.
    pub const fn weight(self) -> u32 {
        self.fine as u32 * self.scale as u32
    }

    /// Whether F is kept.
    pub const fn has_spread(self) -> bool {
        self.scale > 1
    }

    /// Amounts that an outcome adds to E, F and G.
    const fn amounts(self, y: u16) -> [u32; 3] {
        // The trial takes no y above the scale. All products stay below 2^32.
        let (u, y, rest) = (self.fine as u32, y as u32, self.scale.saturating_sub(y) as u32);
        let spread = if self.has_spread() { u * y * rest / self.scale as u32 } else { 0 };
        [u * y - spread, 2 * spread, u * rest - spread]
    }

    /// Bytes of a stored cell. A yes/no plan counts at most 10^7 outcomes.
    const fn cell_bytes(self) -> usize {
        if self.has_spread() { CELL_BYTES } else { size_of::<i32>() }
    }

    /// Bytes of stored cells.
    pub const fn cells_bytes(self) -> usize {
        let kept = if self.has_spread() { 3 } else { 2 };
        2 * kept * self.cell_bytes()
    }
}

/// Bytes of one cell in memory.
const CELL_BYTES: usize = 6;
/// Most bytes of stored cells.
pub(crate) const MAX_CELLS_BYTES: usize = 6 * CELL_BYTES;

/// A signed sum of 48 bits, low part first: 64 features must fit the memory of the smallest board.
/// All outcomes of a trial add up to less than 2^40. Noise that does not fit, which happens with a
/// probability below e^-1000000, makes the sum stop at its largest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell([u16; 3]);

impl Cell {
    const LIMIT: i64 = (1 << 47) - 1;

    #[inline]
    const fn get(self) -> i64 {
        let [low, middle, high] = self.0;
        (high as i16 as i64) << 32 | (middle as i64) << 16 | low as i64
    }

    #[inline]
    fn add(&mut self, amount: i64) {
        let sum = self.get().saturating_add(amount).clamp(-Self::LIMIT, Self::LIMIT);
        self.0 = [sum as u16, (sum >> 16) as u16, (sum >> 32) as u16];
    }

    const fn bytes(self) -> [u8; CELL_BYTES] {
        let [low, middle, high] = self.0;
        let ([a, b], [c, d], [e, f]) =
            (low.to_le_bytes(), middle.to_le_bytes(), high.to_le_bytes());
        [a, b, c, d, e, f]
    }

    const fn from_bytes([a, b, c, d, e, f]: [u8; CELL_BYTES]) -> Self {
        Self([u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]), u16::from_le_bytes([e, f])])
    }

    /// The cell as 4 bytes; noise that does not fit makes it stop at the largest value.
    #[inline]
    const fn short_bytes(self) -> [u8; 4] {
        let [low, middle, high] = self.0;
        let value = ((middle as u32) << 16 | low as u32) as i32;
        if high as i16 as i32 == value >> 31 {
            return value.to_le_bytes();
        }
        if (high as i16) < 0 { i32::MIN } else { i32::MAX }.to_le_bytes()
    }

    /// [`Self::add`] of one outcome, in 32-bit steps: part of every request.
    #[inline]
    const fn add_outcome(&mut self, amount: u32) {
        let [low, middle, high] = self.0;
        let (sum, carry) = ((middle as u32) << 16 | low as u32).overflowing_add(amount);
        let high = (high as i16).saturating_add(carry as i16);
        self.0 = [sum as u16, (sum >> 16) as u16, high as u16];
    }
}

/// The cells E, F, G of arm 0 and of arm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cells([[Cell; 3]; 2]);

/// The cells of one arm, added up. Exact: cells stay below 2^53.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sums {
    /// E + F/2.
    pub outcomes: f64,
    /// F/2.
    pub spread: f64,
    /// E + F + G.
    pub all: f64,
}

impl Cells {
    pub const EMPTY: Self = Self([[Cell([0; 3]); 3]; 2]);

    /// Adds an outcome of `arm`.
    #[inline]
    pub fn add_outcome(&mut self, arm: Arm, y: u16, unit: Unit) {
        for (cell, amount) in arm.of_mut(&mut self.0).iter_mut().zip(unit.amounts(y)) {
            cell.add_outcome(amount);
        }
    }

    /// Adds `count` equal outcomes of `arm`.
    #[cfg(any(test, feature = "std"))]
    pub fn add_outcomes(&mut self, arm: Arm, y: u16, count: u32, unit: Unit) {
        for (cell, amount) in arm.of_mut(&mut self.0).iter_mut().zip(unit.amounts(y)) {
            cell.add(i64::from(amount) * i64::from(count));
        }
    }

    /// Adds a fresh draw to every cell that is kept.
    pub fn add_noise(&mut self, law: &Laplace, unit: Unit, chance: &mut impl Chance) {
        for [e, f, g] in &mut self.0 {
            e.add(chance.discrete_laplace(law));
            if unit.has_spread() {
                f.add(chance.discrete_laplace(law));
            }
            g.add(chance.discrete_laplace(law));
        }
    }

    /// Adds the cells of a window.
    pub fn add(&mut self, window: &Self) {
        for (cell, more) in self.0.iter_mut().flatten().zip(window.0.iter().flatten()) {
            cell.add(more.get());
        }
    }

    /// The sums of both arms.
    pub fn sums(&self) -> [Sums; 2] {
        self.0.map(|arm| {
            // Added up as integers: on the v1 a sum of doubles costs 30 times as much.
            let [e, f, g] = arm.map(Cell::get);
            // Always so for yes/no outcomes.
            if f == 0 {
                return Sums { outcomes: e as f64, spread: 0.0, all: (e + g) as f64 };
            }
            let half = |doubled: i64| doubled as f64 / 2.0;
            Sums { outcomes: half(2 * e + f), spread: half(f), all: (e + f + g) as f64 }
        })
    }

    /// The cells E, F, G of both arms.
    #[cfg(feature = "inspect")]
    pub fn values(&self) -> [[i64; 3]; 2] {
        self.0.map(|arm| arm.map(Cell::get))
    }

    /// Writes the cells that are kept: 4 bytes each for yes/no outcomes, 6 for others.
    #[inline]
    pub fn encode(&self, unit: Unit, out: &mut Writer<'_>) {
        for [e, f, g] in &self.0 {
            if unit.has_spread() {
                [e, f, g].iter().for_each(|cell| out.put(&cell.bytes()));
            } else {
                let ([a, b, c, d], [e, f, g, h]) = (e.short_bytes(), g.short_bytes());
                out.put(&[a, b, c, d, e, f, g, h]);
            }
        }
    }

    pub fn decode(unit: Unit, bytes: &mut Reader<'_>) -> Option<Self> {
        let mut cells = Self::EMPTY;
        for [e, f, g] in &mut cells.0 {
            if unit.has_spread() {
                for cell in [e, f, g] {
                    *cell = Cell::from_bytes(bytes.take()?);
                }
            } else {
                e.add(i32::from_le_bytes(bytes.take()?).into());
                g.add(i32::from_le_bytes(bytes.take()?).into());
            }
        }
        Some(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(scale: u16) -> Unit {
        Unit::of(
            &Plan::parse(&std::format!(
                "features=1 patients=2 better=high epsilon=1 scale={scale}"
            ))
            .unwrap(),
        )
    }

    /// Amounts are not negative and add up to u Y for every outcome of every kind of scale.
    #[test]
    fn an_outcome_adds_the_same_total() {
        for scale in [1, 2, 3, 10, 99, 100, 101, 1000, 65_535] {
            let unit = unit(scale);
            // An interpreter has time for some outcomes of the long scales only.
            let step = if cfg!(miri) { 1 + usize::from(scale / 16) } else { 1 };
            for y in (0..=scale).step_by(step) {
                let [e, f, g] = unit.amounts(y);
                assert_eq!(e + f + g, unit.weight(), "{y} of {scale}");
                assert_eq!(e + f / 2, u32::from(unit.fine) * u32::from(y));
            }
        }
    }

    /// A cell holds every value of its range, and stops at the ends.
    #[test]
    fn cells_count_and_stop_at_their_ends() {
        for value in [0, 1, -1, 0x1234_5678_9ABC, -0x1234_5678_9ABC, Cell::LIMIT, -Cell::LIMIT] {
            let mut cell = Cell([0; 3]);
            cell.add(value);
            assert_eq!(cell.get(), value);
            cell.add(i64::MAX);
            assert_eq!(cell.get(), Cell::LIMIT);
            cell.add(i64::MIN);
            cell.add(i64::MIN);
            assert_eq!(cell.get(), -Cell::LIMIT);
        }
    }

    /// Adding an outcome carries into the high part, and short bytes stop at their ends.
    #[test]
    fn cells_carry_and_shorten() {
        for start in [0, -1, 0xFFFF_FFFE, -0x1_0000_0001, 0x7FFF_FFFF, -0x8000_0000] {
            let mut cell = Cell([0; 3]);
            cell.add(start);
            let clamped = start.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
            assert_eq!(cell.short_bytes(), clamped.to_le_bytes());
            assert_eq!(Cell::from_bytes(cell.bytes()), cell);
            cell.add_outcome(3);
            assert_eq!(cell.get(), start + 3);
        }
    }

    /// Sums of a yes/no and of a graded scale.
    #[test]
    fn sums_count_outcomes() {
        let mut cells = Cells::EMPTY;
        cells.add_outcomes(Arm::One, 1, 3, unit(1));
        cells.add_outcome(Arm::One, 0, unit(1));
        let [zero, one] = cells.sums();
        assert_eq!((zero.outcomes, zero.all), (0.0, 0.0));
        assert_eq!((one.outcomes, one.all, one.spread), (3.0, 4.0, 0.0));
        let mut cells = Cells::EMPTY;
        cells.add_outcome(Arm::Zero, 3, unit(10));
        let [zero, _] = cells.sums();
        // In units of 1/10: 3, 3 * 7 / 10 and 10.
        assert_eq!((zero.outcomes, zero.spread, zero.all), (30.0, 21.0, 100.0));
    }
}
