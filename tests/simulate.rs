//! The simulator: the same result however it is cut, and figures that can be checked by hand.

use equipoise::host::simulate::{
    Arrivals, Comparator, Delay, Instance, Lost, Policy, Scenario, run, sums,
};
use equipoise::plan::Plan;

fn scenario(plan: &str, runs: u32) -> Scenario {
    let plan = Plan::parse(plan).unwrap();
    Scenario::new(plan, Instance::same(plan.features(), 0.35, 0.65), runs, 1)
}

fn comparison(rule: &str, plan: &str, runs: u32) -> Scenario {
    let rule = Comparator::parse(rule).unwrap().unwrap();
    Scenario { policy: Policy::Comparator(rule), ..scenario(plan, runs) }
}

/// The result does not depend on threads or on how the runs are split.
#[test]
fn result_is_the_same_for_any_split() {
    let mut s = scenario("features=3 patients=1000 epsilon=1 scale=7", 24);
    s.world.arrivals = Arrivals::Zipf(1.0);
    s.world.delay = Delay { from: 3, to: 200 };
    s.world.lost = Lost([0.1, 0.2]);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sums(&s, 0..24, &|| ()).unwrap())
    };
    let whole = with(1);
    assert_eq!(with(3), whole);
    let piece = |runs| sums(&s, runs, &|| ()).unwrap();
    assert_eq!(piece(17..24).merge(piece(0..5)).merge(piece(5..17)), whole);
    assert_ne!(piece(0..23), whole);
}

/// A uniform trial has the regret and the error of the formulas.
#[test]
fn uniform_trial_follows_the_formulas() {
    let summary = run(&comparison("fixed", "features=10 patients=20000 epsilon=1", 200)).unwrap();
    // Half of 20,000 patients lose 0.3 each; 2,000 patients a feature estimate with 2 * 2 * 0.2275
    // / 2000.
    let (mse, product) = (summary.mse.unwrap(), summary.product.unwrap());
    assert!((summary.regret.mean - 3000.0).abs() < 4.0 * summary.regret.error, "{summary:?}");
    assert!((mse.mean - 0.000_455).abs() < 4.0 * mse.error, "{summary:?}");
    assert!((product.mean - 0.1365).abs() < 4.0 * product.error, "{summary:?}");
    // The squared error of a normal estimate has relative deviation sqrt(2), over 2,000 of them.
    assert!((mse.error / 0.000_455 - (2.0f64 / 2000.0).sqrt()).abs() < 0.005, "{summary:?}");
    assert!((summary.coverage.unwrap().mean - 0.95).abs() < 0.02, "{summary:?}");
    assert_eq!((summary.estimates, summary.wrong_drops, summary.first_drop), (1.0, 0.0, None));
}

/// P(Z > x) of a standard normal Z.
fn above(x: f64) -> f64 {
    0.5 * libm::erfc(x / std::f64::consts::SQRT_2)
}

/// Power, errors on the wrong side, errors anywhere and the overall effect of the fixed trial agree
/// with the normal approximation.
#[test]
fn power_and_errors_follow_the_formulas() {
    let mut s = comparison("fixed", "features=4 patients=2000 epsilon=1", 2000);
    let (z, deviation) = (1.959_964, (2.0 * 2.0 * 0.25 / 500.0f64).sqrt());
    for effect in [0.0, 0.02, 0.1] {
        s.world.instance = Instance::same(4, 0.5 - effect / 2.0, 0.5 + effect / 2.0);
        let found = run(&s).unwrap();
        let (right, wrong) = (above(z - effect / deviation), above(z + effect / deviation));
        let excludes = found.excludes_0.unwrap();
        let power = right + wrong;
        assert!(
            (excludes.mean - power).abs() < 0.004 + 4.0 * excludes.error,
            "{effect}: {found:?}"
        );
        let expected = (power * (1.0 - power) / 8000.0).sqrt();
        assert!((excludes.error / expected - 1.0).abs() < 0.2, "{effect}: {found:?}");
        let wrong_side = if effect == 0.0 { 0.0 } else { wrong };
        assert!((found.wrong_side.unwrap().mean - wrong_side).abs() < 0.006, "{effect}: {found:?}");
        let an_error = if effect == 0.0 { power } else { wrong };
        assert!(
            (found.any_error.mean - (1.0 - (1.0 - an_error).powi(4))).abs() < 0.035,
            "{effect}: {found:?}"
        );
        // The mean of four features has half the deviation of one.
        let overall = above(z - 2.0 * effect / deviation) + above(z + 2.0 * effect / deviation);
        let share = found.overall_excludes_0.unwrap();
        assert!((share.mean - overall).abs() < 0.004 + 4.0 * share.error, "{effect}: {found:?}");
        assert!((found.overall_coverage.unwrap().mean - 0.95).abs() < 0.025, "{effect}: {found:?}");
        assert!(
            (found.overall_width.unwrap() / (z * deviation) - 1.0).abs() < 0.02,
            "{effect}: {found:?}"
        );
    }
}

/// Far fewer patients on the worse arm than in a fixed trial, an unbiased estimate, and features
/// that settle before half for the better arm.
#[test]
fn interim_has_its_figures() {
    let summary = run(&scenario("features=4 patients=4000 epsilon=1", 600)).unwrap();
    let product = summary.product.unwrap();
    assert!((product.mean - 0.134).abs() < 4.0 * product.error, "{summary:?}");
    assert!((summary.regret.mean - 145.7).abs() < 4.0 * summary.regret.error + 0.5, "{summary:?}");
    assert!(summary.bias.unwrap().abs() < 0.01, "{summary:?}");
    let coverage = summary.coverage.unwrap();
    assert!((coverage.mean - 0.948).abs() < 4.0 * coverage.error, "{summary:?}");
    assert!(summary.dropped > 0.8 && summary.wrong_drops < 0.01, "{summary:?}");
    assert!(summary.first_drop.unwrap() < 600.0, "{summary:?}");
}

/// Looks count resolved patients, so late outcomes settle features at the same counts, with more
/// patients assigned by the fair coin.
#[test]
fn late_outcomes_cost_regret() {
    let mut s = scenario("features=2 patients=4000 epsilon=1", 50);
    let at_once = run(&s).unwrap();
    s.world.delay = Delay::fixed(500);
    let late = run(&s).unwrap();
    assert!((late.first_drop.unwrap() - at_once.first_drop.unwrap()).abs() < 100.0);
    assert!(late.regret.mean > at_once.regret.mean + 50.0, "{late:?}");
    // A delay of one patient is seen through the other path of the harness; only luck differs.
    s.world.delay = Delay::fixed(1);
    let one = run(&s).unwrap();
    assert!((one.regret.mean / at_once.regret.mean - 1.0).abs() < 0.1, "{one:?}");
}

#[test]
fn a_drop_is_dated_at_its_look() {
    let s = scenario("features=2 patients=4000 epsilon=4", 20);
    let stage = sums(&s, 0..20, &|| ()).unwrap();
    let mut at = 2000;
    let mut looks = vec![at];
    while at * 5 / 8 >= 160 {
        at = at * 5 / 8;
        looks.push(at);
    }
    for run in 0..20 {
        let one = sums(&s, run..run + 1, &|| ()).unwrap();
        assert!(one.drops == 0 || looks.contains(&one.first_drop), "{one:?} {looks:?}");
    }
    assert_eq!(stage.drops, 20);
}

/// A graded outcome has its mean, and losses have their rate.
#[test]
fn graded_outcomes_and_losses_have_rates() {
    let mut s = comparison("fixed", "features=2 patients=10000 epsilon=1 scale=10", 50);
    s.world.instance = Instance { p0: vec![0.25, 0.5], p1: vec![0.83, 0.9], drift: 0.0 };
    let summary = run(&s).unwrap();
    assert!(summary.max_bias.unwrap() < 0.003, "{summary:?}");
    // Uniform laws vary less than yes/no ones, so Wald intervals are too wide, never too narrow.
    assert!(summary.coverage.unwrap().mean > 0.98, "{summary:?}");
    let all = summary.mse.unwrap().mean;
    s.world.lost = Lost([0.5, 0.5]);
    let half = run(&s).unwrap().mse.unwrap().mean;
    assert!((half / all - 2.0).abs() < 0.8, "{half} {all}");
}

#[test]
fn a_drift_of_both_arms_leaves_the_effect_alone() {
    let mut s = comparison("fixed", "features=1 patients=20000 epsilon=1", 50);
    s.world.instance.drift = 0.3;
    let summary = run(&s).unwrap();
    assert!(summary.bias.unwrap().abs() < 0.004, "{summary:?}");
    s.world.instance.drift = -0.36;
    assert_eq!(
        run(&s).unwrap_err().to_string(),
        "drift=-0.36 allowed what leaves every rate in 0..=1"
    );
}

#[test]
fn bandits_lose_less_and_overstate_more() {
    let plan = "features=10 patients=20000 epsilon=1";
    let [uniform, ucb1, thompson, etc] =
        ["fixed", "ucb1", "thompson", "etc"].map(|rule| run(&comparison(rule, plan, 40)).unwrap());
    assert!(thompson.regret.mean < ucb1.regret.mean && ucb1.regret.mean < uniform.regret.mean);
    assert!((ucb1.bias.unwrap() - 0.012).abs() < 0.006, "{ucb1:?}");
    assert!((thompson.bias.unwrap() - 0.055).abs() < 0.02, "{thompson:?}");
    assert!((etc.regret.mean - 300.0).abs() < 5.0, "{etc:?}");
    assert!((etc.product.unwrap().mean - 0.074).abs() < 0.012, "{etc:?}");
}

#[test]
fn arrivals_have_their_shares() {
    let shares = |arrivals: Arrivals| {
        let mut s = comparison("fixed", "features=4 patients=70000 epsilon=1", 2);
        s.world.arrivals = arrivals;
        sums(&s, 0..2, &|| ())
            .unwrap()
            .features
            .iter()
            .map(|f| f.patients as f64)
            .collect::<Vec<_>>()
    };
    let named = |name: &str| Arrivals::parse(name).unwrap().unwrap();
    // Weekdays (5 of 7) have weights 3 and 1, weekends 1 and 3; the wave averages out.
    let (even, odd) = ((5.0 * 3.0 + 2.0) / 7.0 / 8.0, (5.0 + 2.0 * 3.0) / 7.0 / 8.0);
    for (arrivals, expected) in [
        (named("uniform"), [0.25; 4]),
        (named("zipf"), [12.0 / 25.0, 6.0 / 25.0, 4.0 / 25.0, 3.0 / 25.0]),
        (named("zipf:0"), [0.25; 4]),
        (named("shares:0,3,1,0"), [0.0, 0.75, 0.25, 0.0]),
        (named("seasonal"), [even, odd, even, odd]),
        (Arrivals::trace("0 1 1\n3,3 3 3").unwrap(), [1.0 / 7.0, 2.0 / 7.0, 0.0, 4.0 / 7.0]),
    ] {
        for (seen, share) in shares(arrivals.clone()).iter().zip(expected) {
            let patients = 140_000.0 * share;
            assert!(
                (seen - patients).abs() <= 5.0 * patients.sqrt(),
                "{arrivals} {seen} {patients}"
            );
        }
    }
}

/// A scenario that cannot be simulated is refused; the message names what is allowed.
#[test]
fn impossible_scenarios_are_named() {
    let good = scenario("features=2 patients=100 epsilon=1", 2);
    let message = |s: Scenario| run(&s).unwrap_err().to_string();
    assert_eq!(message(Scenario { runs: 0, ..good.clone() }), "runs=0 allowed 1..=1000000");
    let mut bad = good.clone();
    bad.world.instance.p1[1] = 1.5;
    assert_eq!(message(bad), "p1=1.5 allowed 0..=1");
    let mut bad = good.clone();
    bad.world.instance.p0.pop();
    assert_eq!(message(bad), "p0=1 rates allowed one rate, or one a feature of the plan");
    let mut bad = good.clone();
    bad.world.arrivals = Arrivals::Trace(vec![0, 2]);
    assert_eq!(message(bad), "arrivals feature=2 allowed 0..features");
    let mut bad = good;
    bad.world.delay = Delay { from: 3, to: 2 };
    assert_eq!(message(bad), "delay=3..2 allowed D or A..B patients, 0..=16000, A at most B");
    assert!(
        Lost::parse("0.1,2").is_err() && Lost::parse("x").is_err() && Lost::parse("0.1").is_ok()
    );
    assert!(Comparator::parse("etc:2").is_err() && Comparator::parse("best").unwrap().is_none());
    assert!(Instance::parse("p0,p1\n0.1,0.2\n0.3").is_err());
}

fn equipoise(args: &[&str]) -> (Option<i32>, String, String) {
    let done =
        std::process::Command::new(env!("CARGO_BIN_EXE_equipoise")).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

/// Merged shards are the single run byte for byte; wrong sets are refused.
#[test]
fn merged_shards_equal_the_single_run() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let simulate = |shard: &str, json: &str, seed: &str| {
        let common = "simulate --design interim,etc,dp-conse --features 3 --patients 600 --runs 7 \
                      --p0 0.1,0.3,0.7 --p1 0.4,0.3,0.1 --lost 0.1,0.3 --delay 0..9";
        let args = common.split_ascii_whitespace();
        let rest = ["--seed", seed, "--shard", shard, "--json", json];
        let (code, ..) = equipoise(&args.chain(rest).collect::<Vec<_>>());
        assert_eq!(code, Some(0));
    };
    let [whole, one, two, three, other] = ["w", "1", "2", "3", "o"].map(at);
    simulate("1/1", &whole, "18446744073709551615");
    for (shard, file) in [("1/3", &one), ("2/3", &two), ("3/3", &three)] {
        simulate(shard, file, "18446744073709551615");
    }
    simulate("2/3", &other, "6");
    let merged = equipoise(&["merge", &three, &one, &two, "--json", "-"]);
    assert_eq!(merged, (Some(0), std::fs::read_to_string(&whole).unwrap(), String::new()));
    for (files, message) in [
        ([&one, &one, &three], "runs 0..2 are there twice"),
        ([&one, &three, &three], "runs 2..4 are missing"),
        ([&two, &two, &three], "runs 0..2 are missing"),
        ([&one, &two, &two], "runs 2..4 are there twice"),
        ([&one, &other, &three], "the parts come from different simulations (their setups differ)"),
    ] {
        let (code, out, error) = equipoise(&["merge", files[0], files[1], files[2]]);
        assert_eq!((code, out, error), (Some(2), String::new(), format!("equipoise: {message}\n")));
    }
    let (code, _, error) = equipoise(&["merge", &one, &two]);
    assert_eq!((code, error.as_str()), (Some(2), "equipoise: runs 4..7 are missing\n"));
}

/// A bad value is named with what is allowed, and the exit code is 2.
#[test]
fn bad_values_are_named() {
    for (args, allowed) in [
        ("--epsilon 0", "epsilon=0 allowed 1/1000..=20"),
        ("--epsilon much", "allowed a number such as 3, 1/4 or 0.25"),
        ("--features 65", "65 is not in 1..=64"),
        (
            "--design best",
            "design=best allowed conse dp-conse interim uniform fixed ucb1 thompson etc[:SHARE]",
        ),
        ("--runs 0", "0 is not in 1..=1000000"),
        ("--runs many", "'many' for '--runs"),
        ("--seed -1x", "'-1x' for '--seed"),
        ("--p0 0.1,0.2", "p0=2 rates allowed one rate, or one a feature of the plan"),
        ("--p1 1.01", "'1.01' for '--p1 <P1>': allowed 0..=1"),
        ("--shard 0/3", "shard=0/3 allowed I/K with 1 <= I <= K <= runs"),
        ("--shard 1/2000", "shard=1/2000 allowed I/K with 1 <= I <= K <= runs"),
        ("--delay 9..3", "delay=9..3 allowed D or A..B patients, 0..=16000, A at most B"),
        ("--lost 2", "lost=2 allowed P or P0,P1, each 0..=1"),
        ("--threads x", "'x' for '--threads"),
        ("--arrivals nothing", "arrivals=nothing allowed uniform"),
        ("--instance nothing", "nothing: No such file"),
    ] {
        let words = args.replace(' ', "=");
        let (code, out, error) = equipoise(&["simulate", &words]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args}");
        assert!(error.contains(allowed), "{args}: {error}");
    }
}

/// No option that names a file overwrites one that is there, and nothing is simulated before that
/// is found out; `--force` overwrites it.
#[test]
fn files_are_never_overwritten_silently() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let small = ["--patients=400", "--runs=2", "--features=2"];
    let part = at("part.json");
    let (code, ..) = equipoise(&[&["simulate", "--json", &part], &small[..]].concat());
    assert_eq!(code, Some(0));
    let plan = ["plan", "--patients=400", "--baseline=0.3", "--effect=0.4", "--epsilon=1"];
    for (words, option, name) in [
        ([&["simulate"], &small[..]].concat(), "--json", "s.json"),
        ([&["simulate"], &small[..]].concat(), "--csv", "s.csv"),
        (vec!["merge", &part], "--json", "m.json"),
        (vec!["merge", &part], "--csv", "m.csv"),
        ([&["pareto"], &small[..]].concat(), "--out", "p.svg"),
        ([&["pareto"], &small[..]].concat(), "--out", "p.csv"),
        ([&["pareto"], &small[..]].concat(), "--out", "p.png"),
        ([&["normality"], &small[..]].concat(), "--out", "n.svg"),
        (plan.to_vec(), "--out", "t.toml"),
        (vec!["audit", "--structured", "--design=uniform"], "--svg", "a.svg"),
    ] {
        let path = at(name);
        let run = |more: &[&str]| equipoise(&[&words[..], &[option, &path], more].concat());
        std::fs::write(&path, "mine").unwrap();
        let (code, out, error) = run(&[]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{words:?} {option}: {error}");
        assert!(error.contains("the file exists and is not overwritten; --force"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine", "{words:?} {option}");
        if !name.ends_with("png") {
            let (code, _, error) = run(&["--force"]);
            assert_eq!(code, Some(0), "{words:?} {option}: {error}");
            assert_ne!(std::fs::read_to_string(&path).unwrap(), "mine", "{words:?} {option}");
        }
    }
}

#[test]
fn csv_has_its_columns_and_a_line_a_design() {
    let (code, out, _) =
        equipoise(&["simulate", "--design=fixed,conse", "--patients=500", "--runs=3", "--csv=-"]);
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(code, Some(0));
    assert_eq!(
        lines[0][..10].join(","),
        "design,plan,arrivals,delay,lost0,lost1,drift,runs,seed,regret"
    );
    assert_eq!(lines[0][23..28].join(","), "first_drop,product,product_se,f_min,coverage_se");
    assert_eq!((lines.len(), lines[1][0], lines[2][0]), (3, "fixed", "conse"));
    assert!(lines.iter().all(|line| line.len() == 39) && lines[1][23].is_empty(), "{out}");
}

/// `plan` writes the trial file that `provision` takes, with the least epsilon that is enough.
#[test]
fn plan_finds_the_least_epsilon() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("TRIAL.toml");
    let wish = ["plan", "--features=2", "--patients=2000", "--baseline=0.3", "--effect=0.4"];
    let plan = |rest: &[&str]| equipoise(&[&wish[..], rest].concat());
    let to = format!("--out={}", out.to_str().unwrap());
    let (code, text, _) =
        plan(&["--better=0.8", &to, "--title=A \"quoted\" trial", "--names=old,young"]);
    assert_eq!(code, Some(0), "{text}");
    let trial = equipoise::host::terminal::trial_file::TrialFile::read(&out).unwrap();
    assert_eq!((trial.title.as_str(), trial.plan.patients()), ("A \"quoted\" trial", 2000));
    let better = |epsilon: &str, alpha: &str| {
        let plan = format!("features=2 patients=2000 epsilon={epsilon} alpha={alpha}");
        let instance = Instance::same(2, 0.3, 0.7);
        1.0 - run(&Scenario::new(Plan::parse(&plan).unwrap(), instance, 400, 1))
            .unwrap()
            .worse_share
    };
    let (epsilon, alpha) = (trial.plan.epsilon(), trial.plan.alpha());
    assert!(better(&epsilon.to_string(), &alpha.to_string()) >= 0.8);
    let less = format!("{}/{}", epsilon.num() * 2, epsilon.den() * 3);
    assert!(better(&less, "1") < 0.8, "{epsilon}");
    // Out of reach, too small, or not said: plainly, and nothing is written.
    std::fs::remove_file(&out).unwrap();
    let (code, _, error) = plan(&["--width=0.01", &to]);
    assert!(code == Some(1) && error.contains("out of reach") && !out.exists(), "{error}");
    let (code, text, error) = plan(&["--width=1.5", &to]);
    assert!(
        code == Some(1) && text.is_empty() && error.contains("don't") && !out.exists(),
        "{error}"
    );
    for (bad, message) in [
        ("--seed=1", "--epsilon is to be found: say what is wanted"),
        ("--better=1", "allowed at least 0.5, below 1"),
        ("--width=0", "allowed above 0, below 2"),
    ] {
        let (code, text, error) = plan(&[bad]);
        assert!(code == Some(2) && text.is_empty() && error.contains(message), "{bad}: {error}");
    }
    let (code, _, error) = plan(&["--width=1", "--names=old"]);
    assert!(code == Some(2) && error.contains("2") && error.contains("names"), "{error}");
}

/// Pictures have title, axes and legend; the CSV file has the points.
#[test]
fn pictures_and_their_csv_are_complete() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for (over, legend, points) in
        [("alpha", "floor", 32), ("epsilon", "no privacy", 29), ("fmin", "f_min", 36)]
    {
        for end in ["svg", "csv"] {
            let (out, over) =
                (format!("--out={}", at(&format!("p.{end}"))), format!("--over={over}"));
            let small = ["--patients=400", "--runs=2", "--features=3", "--force"];
            let (code, _, error) = equipoise(&[&["pareto", &out, &over], &small[..]].concat());
            assert_eq!((code, error.as_str()), (Some(0), ""));
        }
        let svg = std::fs::read_to_string(at("p.svg")).unwrap();
        for words in ["<title>", "font-weight=\"bold\"", "rotate(-90)", "interim", legend] {
            assert!(svg.contains(words) || over == "fmin" && words == "interim", "{over} {words}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf\""));
        assert_eq!(std::fs::read_to_string(at("p.csv")).unwrap().lines().count(), points + 1);
    }
    let (code, _, error) = equipoise(&["pareto", "--out=x.gif"]);
    let message = "equipoise: out=x.gif allowed a name that ends in .svg, .png or .csv\n";
    assert_eq!((code, error.as_str()), (Some(2), message));
}

/// Errors of the estimates are normal with twice the published variance.
#[test]
fn errors_are_normal_with_our_variance() {
    use equipoise::host::normality::Errors;
    for (design, factor) in
        [("conse", true), ("dp-conse", true), ("interim", false), ("uniform", false)]
    {
        let s = scenario(&format!("design={design} features=10 patients=20000 epsilon=1"), 150);
        let errors = Errors::of(&s, &|| ()).unwrap();
        let (mean, variance) = errors.moments();
        // 1,500 estimates: standard errors 0.026 and 0.037.
        assert!(mean.abs() < 0.08 && (variance - 1.0).abs() < 0.12, "{design} {mean} {variance}");
        assert!(errors.p_value() > 0.01, "{design} {} {}", errors.distance(), errors.p_value());
        assert_eq!(errors.factor.is_some(), factor);
        assert!(
            errors.factor.is_none_or(|f| (f - 2.0).abs() < 0.25),
            "{design} {:?}",
            errors.factor
        );
    }
    // The same check is red for errors that are not standard normal.
    let flat = Errors {
        name: String::new(),
        sorted: (0..1500).map(|i| f64::from(i) / 300.0 - 2.5).collect(),
        factor: None,
    };
    assert!(flat.p_value() < 0.001);
}
