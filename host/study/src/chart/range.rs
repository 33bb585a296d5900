//! The range of an axis: where a value lies, and which values get a tick.

/// The drawn range of an axis, in the units in which it is linear.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    low: f64,
    high: f64,
    log: bool,
}

impl Range {
    pub fn new(values: impl Iterator<Item = f64>, log: bool) -> Self {
        let linear = |v: f64| if log { v.log10() } else { v };
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|v| v.is_finite() && (!log || *v > 0.0)).map(linear) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let margin = ((high - low) * 0.06).max(if log { 0.05 } else { 1e-9 });
        Self { low: low - margin, high: high + margin, log }
    }

    /// 0 at the low end, 1 at the high one; `None` where there is no logarithm.
    pub fn place(&self, value: f64) -> Option<f64> {
        let linear = if self.log { value.log10() } else { value };
        linear.is_finite().then(|| (linear - self.low) / (self.high - self.low))
    }

    /// Round values, and whether they get a number.
    pub fn ticks(&self) -> Vec<(f64, bool)> {
        let mut ticks = Vec::new();
        if self.log {
            let span = self.high - self.low;
            let numbered: &[u32] = match span {
                s if s < 0.6 => &[1, 2, 3, 4, 5, 6, 7, 8, 9],
                s if s < 1.3 => &[1, 2, 3, 5, 7],
                s if s < 2.2 => &[1, 2, 5],
                _ => &[1],
            };
            for decade in self.low.floor() as i32..=self.high.ceil() as i32 {
                for digit in 1..=9 {
                    let value = f64::from(digit) * 10f64.powi(decade);
                    if self.place(value).is_some_and(|at| (0.0..=1.0).contains(&at)) {
                        ticks.push((value, numbered.contains(&digit)));
                    }
                }
            }
        } else {
            let rough = (self.high - self.low) / 8.0;
            let power = 10f64.powf(rough.log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough);
            let step = step.unwrap_or(rough);
            let first = (self.low / step).ceil() as i64;
            ticks.extend(
                (first..).map(|k| (k as f64 * step, true)).take_while(|(v, _)| *v <= self.high),
            );
        }
        ticks
    }
}

/// A tick's number: plain digits, thousands separated by commas.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !(2e-5..1e7).contains(&value.abs()) {
        return format!("{value:e}");
    }
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let whole = text.split('.').next().unwrap_or(text).trim_start_matches('-').len();
    if whole <= 4 || text.contains('.') {
        return text.into();
    }
    let (head, tail) = text.split_at(text.len() - 3);
    match head.len() {
        4.. => format!("{},{},{tail}", &head[..head.len() - 3], &head[head.len() - 3..]),
        _ => format!("{head},{tail}"),
    }
}
