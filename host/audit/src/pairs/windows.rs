//! The cells of the windows of a pair's trials.

pub(super) type Windows = Option<[([[i64; 3]; 2], bool); 2]>;

/// The cells of the windows that have their noise.
pub(super) fn masked(windows: Windows) -> Vec<i64> {
    let windows = windows.into_iter().flatten().filter(|(_, masked)| *masked);
    windows.flat_map(|(cells, _)| cells).flatten().collect()
}

/// The windows that a close reads as it must find them: those that lack their noise with it added.
pub(super) fn closed(scale: u16, windows: Windows, reads: [bool; 2], noise: &[i64]) -> Vec<i64> {
    let (mut cells, mut noise) = (Vec::new(), noise.iter());
    for ((window, masked), _) in
        windows.into_iter().flatten().zip(reads).filter(|(_, reads)| *reads)
    {
        for (i, cell) in window.into_iter().flatten().enumerate() {
            let draws = !masked && (scale > 1 || i % 3 != 1);
            cells.push(cell + if draws { noise.next().copied().unwrap_or(0) } else { 0 });
        }
    }
    cells
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
