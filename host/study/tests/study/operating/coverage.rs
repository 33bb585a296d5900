//! Coverage at rare rates, and given the look at which a feature settled.

use super::*;

/// Rates below 2 % and above 98 %, where an arm has few events.
fn rare_settings() -> Vec<(&'static str, Setting)> {
    let new = Setting::new;
    vec![
        ("0.002/0.002, epsilon 20", new("features=2 patients=20000 epsilon=20", [0.002, 0.002])),
        ("0.002/0.004, epsilon 8", new("features=2 patients=20000 epsilon=8", [0.002, 0.004])),
        ("0.998/0.998, epsilon 8", new("features=1 patients=10000 epsilon=8", [0.998, 0.998])),
        ("0.005/0.01, epsilon 4", new("features=2 patients=10000 epsilon=4", [0.005, 0.01])),
        ("0.01/0.01, epsilon 1", new("features=2 patients=10000 epsilon=1", [0.01, 0.01])),
        ("0.99/0.99, epsilon 4", new("features=4 patients=10000 epsilon=4", [0.99, 0.99])),
        ("0.05/0.05, epsilon 2", new("features=4 patients=8000 epsilon=2", [0.05, 0.05])),
        ("0.02/0.02, epsilon 20", new("features=4 patients=8000 epsilon=20", [0.02, 0.02])),
    ]
}

/// Rare events: intervals may be wide, and exclude 0 in at most 6.5 % where it is 0.
#[test]
fn coverage_at_rare_rates() {
    println!("{HEADER}");
    for (seed, (name, setting)) in (1200..).zip(rare_settings()) {
        let found = simulate(&setting, trials(&setting).max(1000), seed);
        print_row(name, &found);
        assert!(found.covered >= 0.93, "{name}: {found:?}");
        let null = setting.rates[0] == setting.rates[1];
        assert!(!null || found.excluded <= 0.065, "{name}: {found:?}");
    }
}

/// Coverage among the features that settled at the same look, wherever 3 % of them do and there is
/// an effect. (Without one they are the misled ones: `limits.rs` of the device's tests.)
#[test]
fn coverage_given_the_settling_look() {
    let settings = [
        Setting::new(PLAN, RATES),
        Setting::new(PLAN, [0.45, 0.55]),
        Setting::new("features=4 patients=4000 epsilon=1", [0.35, 0.45]),
        Setting::new("features=4 patients=4000 epsilon=1", RATES),
        Setting::new("features=4 patients=4000 epsilon=4", [0.4, 0.6]),
    ];
    for (seed, setting) in (1300..).zip(settings) {
        let found = simulate(&setting, 4 * trials(&setting), seed);
        let features = found.trials * f64::from(setting.plan.features());
        for (look, [settled, covered]) in found.by_look.iter().enumerate() {
            if settled / features >= 0.03 {
                let share = covered / settled;
                println!("{}, look {look}: {settled} settled, {share:.4} covered", setting.plan);
                assert!(share >= 0.85, "{} look {look}: {share}", setting.plan);
            }
        }
    }
}
