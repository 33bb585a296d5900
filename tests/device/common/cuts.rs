//! Ways to cut the power, and the count of what was lost, shared by the tests of power cuts.
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use equipoise::testkit::strict_flash::Tear;

/// How often the power was cut, how often that lost something, and what came first.
#[derive(Default)]
pub struct Tally {
    pub cuts: AtomicU64,
    lost: AtomicU64,
    first: Mutex<Option<String>>,
}

impl Tally {
    pub fn lose(&self, what: String) {
        self.lost.fetch_add(1, Relaxed);
        self.first.lock().unwrap().get_or_insert(what);
    }

    pub fn print(&self, name: &str) {
        let (cuts, lost) = (self.cuts.load(Relaxed), self.lost.load(Relaxed));
        // Past the harness, which would keep it from CI's output.
        let _ = writeln!(std::io::stderr(), "{name}: {cuts} power cuts, {lost} lost something");
        assert_eq!(lost, 0, "{}", self.first.lock().unwrap().as_deref().unwrap_or_default());
    }
}

/// Is every recovery to be cut?
pub fn every_cut() -> bool {
    std::env::var_os("EQUIPOISE_EVERY_CUT").is_some_and(|value| value == "1")
}

/// The ways in which the first operation that fails is torn.
pub fn tears(cut: u64) -> impl Iterator<Item = Tear> {
    let random = (1..4).map(move |seed| Tear::Random(seed << 32 | cut));
    [Tear::None, Tear::All, Tear::Alternating].into_iter().chain(random)
}
