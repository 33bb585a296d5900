//! Privacy, audited: the exact law of everything an adversary sees, on the code that ships.

use std::time::Instant;

use equipoise::host::audit::cases;
use equipoise::host::audit::exact::{self, View};
use equipoise::host::audit::loss::Loss;
use equipoise::plan::Plan;

fn plan(text: &str) -> Plan {
    Plan::parse(text).unwrap()
}

#[test]
fn scratch() {
    for view in [View::Ledger, View::Replies] {
        for text in ["features=1 patients=4 epsilon=20 alpha=1 beta=9/10"] {
            let plan = plan(text);
            let start = Instant::now();
            let (mut worst, mut count, mut least) = (Loss::NONE, 0, 1.0f64);
            for case in cases::all(plan, 0).step_by(27) {
                let one = Instant::now();
                let records = cases::records(&plan);
                let laws = exact::laws(&case, &records, &view);
                for r in 0..records.len() {
                    least = least.min(laws.total(r));
                }
                let w = laws.worst(20.0);
                worst = worst.or(w);
                count += 1;
                println!("{} {:?} {:?} sights {}", case.open, w, one.elapsed(), laws.sights().count());
            }
            println!("{view:?} {text} {worst:?} {count} {:e} {:?}", 1.0 - least, start.elapsed());
        }
    }
}
