//! The cells of the windows of a pair's trials.

use super::Trials;

pub(super) type Windows = Option<[([[i64; 3]; 2], bool); 2]>;

/// The cells of the windows that have their noise.
pub(super) fn masked(windows: Windows) -> Vec<i64> {
    let windows = windows.into_iter().flatten().filter(|(_, masked)| *masked);
    windows.flat_map(|(cells, _)| cells).flatten().collect()
}

/// The raw cells that a close adds noise to, in the order of the draws.
pub(super) fn unmasked(trial: &Trials, feature: u8) -> Vec<i64> {
    let settled = trial.leading(feature).is_some();
    let windows = trial.windows(feature).into_iter().flatten().zip([true, settled]);
    let raw = windows.filter(|((_, masked), read)| *read && !masked);
    let graded = trial.plan().scale() > 1;
    raw.flat_map(|((cells, _), _)| cells.into_iter().flatten().enumerate())
        .filter(|(i, _)| graded || i % 3 != 1)
        .map(|(_, cell)| cell)
        .collect()
}

/// Cells with their noise, with a 0 for each F that is not kept.
pub(super) fn kept_cells(scale: u16, raw: &[i64], noise: &[i64]) -> Vec<i64> {
    let sums: Vec<i64> = raw.iter().zip(noise).map(|(cell, noise)| cell + noise).collect();
    if scale > 1 {
        return sums;
    }
    sums.chunks(2).flat_map(|pair| [pair[0], 0, pair[1]]).collect()
}

/// The masked windows as they must be: what was there before, and the noise.
pub(super) fn noised(scale: u16, before: Windows, after: Windows, noise: &[i64]) -> Vec<i64> {
    let both = before.into_iter().flatten().zip(after.into_iter().flatten());
    let (mut cells, mut noise) = (Vec::new(), noise.iter());
    for ((raw, had), (_, has)) in both.filter(|(_, (_, has))| *has) {
        for (i, cell) in raw.into_iter().flatten().enumerate() {
            let draws = has && !had && (scale > 1 || i % 3 != 1);
            cells.push(cell + if draws { noise.next().copied().unwrap_or(0) } else { 0 });
        }
    }
    cells
}
