//! `equipoise plan`: power, errors and widths against closed forms, sample sizes, and the plans it
//! refuses.

#[path = "planner/boundary.rs"]
mod boundary;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use equipoise::host::boundaries::Kind;
use equipoise::host::normal::normal;
use equipoise::host::planner::{Choice, Given, Question, Silent, Target, Wish};
use equipoise::host::simulate::{Instance, Policy, Scenario, run};
use equipoise::plan::Plan;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const Z: f64 = 1.959_963_984_540_054;

fn equipoise(args: &[&str]) -> (Option<i32>, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_equipoise")).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// The variance of the difference of two means of fair coins, with discrete Laplace noise of rate
/// epsilon/2 on the yes and no cells of each arm.
fn variance(patients: f64, features: f64, epsilon: f64, rates: [f64; 2]) -> f64 {
    let q = (-epsilon / 2.0f64).exp();
    let noise = 2.0 * q / (1.0 - q).powi(2);
    let share = 1.0 / (2.0 * features);
    let n = patients * share;
    // Second-order means of 1/N and 1/N^2 of a binomial N.
    let (once, twice) = ((1.0 + (1.0 - share) / n) / n, (1.0 + 3.0 * (1.0 - share) / n) / (n * n));
    let arm = |p: f64| p * (1.0 - p) * once + noise * (p * p + (1.0 - p).powi(2)) * twice;
    arm(rates[0]) + arm(rates[1])
}

fn power(variance: f64, effect: f64) -> f64 {
    let shift = effect.abs() / variance.sqrt();
    normal(shift - Z) + normal(-shift - Z)
}

/// Patients for a power by the closed form.
fn closed_form(wanted: f64, features: f64, epsilon: f64, rates: [f64; 2]) -> f64 {
    let (mut low, mut high) = (10.0, 1e7);
    for _ in 0..100 {
        let middle = f64::sqrt(low * high);
        let enough = power(variance(middle, features, epsilon, rates), rates[1] - rates[0]);
        if enough < wanted { low = middle } else { high = middle }
    }
    high
}

fn question(plan: &str, baseline: f64, wanted: f64) -> Question<'static> {
    let plan = Plan::parse(plan).unwrap();
    let base = Scenario::new(plan, Instance::same(plan.features(), baseline, baseline), 1, 1);
    let given = Given {
        patients: None,
        effect: None,
        epsilon: Some(plan.epsilon()),
        alpha: Some(plan.alpha()),
    };
    let power = Some(wanted);
    let wish = Wish { power, width: None, better: None, regret: None, target: Target::Feature };
    Question { base, baseline, given, wish, meter: &Silent }
}

fn choice(question: &Question, effect: f64) -> Choice {
    let plan = &question.base.plan;
    Choice {
        design: plan.design(),
        policy: Policy::Core,
        patients: plan.patients(),
        effect,
        epsilon: plan.epsilon(),
        alpha: plan.alpha(),
    }
}

/// Power, type I error and width of `uniform` are those of a two-sample comparison with added
/// noise, at 12 settings.
#[test]
fn uniform_agrees_with_closed_forms() {
    for (patients, features, epsilon, rates) in [
        (400, 1, "1", [0.35, 0.50]),
        (800, 1, "1", [0.35, 0.45]),
        (800, 1, "1/4", [0.35, 0.45]),
        (1600, 1, "1/2", [0.50, 0.57]),
        (3000, 1, "2", [0.30, 0.35]),
        (2000, 4, "1", [0.35, 0.50]),
        (4000, 4, "1", [0.35, 0.45]),
        (4000, 4, "1/3", [0.60, 0.50]),
        (6000, 10, "1", [0.35, 0.50]),
        (6000, 10, "3", [0.20, 0.30]),
        (1000, 2, "1", [0.80, 0.70]),
        (2400, 3, "1/2", [0.10, 0.18]),
    ] {
        let text =
            format!("design=uniform features={features} patients={patients} epsilon={epsilon}");
        let plan = Plan::parse(&text).unwrap();
        let variance =
            |rates| variance(patients.into(), features.into(), plan.epsilon().to_f64(), rates);
        let simulate = |rates: [f64; 2]| {
            let instance = Instance::same(features as u8, rates[0], rates[1]);
            run(&Scenario::new(plan, instance, 12_000u32.div_ceil(features), 5)).unwrap()
        };
        let found = simulate(rates);
        let expected = power(variance(rates), rates[1] - rates[0]);
        let figure = found.excludes_0.unwrap();
        let far = (figure.mean - expected).abs();
        assert!(far < 0.01 + 3.0 * figure.error, "{text} power {figure:?} for {expected}");
        let width = 2.0 * Z * variance(rates).sqrt();
        assert!(
            (found.width.unwrap() / width - 1.0).abs() < 0.02,
            "{text} {:?} {width}",
            found.width
        );
        let null = simulate([rates[0]; 2]).excludes_0.unwrap();
        assert!((null.mean - 0.05).abs() < 0.004 + 3.0 * null.error, "{text} type I {null:?}");
    }
}

/// Patients that `plan` finds for `uniform` lie within 3 % of the closed form, at 6 settings.
#[test]
fn sample_sizes_of_uniform() {
    for (features, epsilon, rates, wanted) in [
        (1, "1", [0.35, 0.45], 0.8),
        (1, "1/2", [0.50, 0.60], 0.9),
        (1, "2", [0.20, 0.30], 0.8),
        (4, "1", [0.35, 0.50], 0.8),
        (4, "1/4", [0.60, 0.45], 0.9),
        (8, "1", [0.40, 0.55], 0.85),
    ] {
        let plan = format!("design=uniform features={features} patients=100 epsilon={epsilon}");
        let question = question(&plan, rates[0], wanted);
        let at = choice(&question, rates[1] - rates[0]);
        let found = question.fewest_patients(&at, &question.wish).unwrap().unwrap();
        let epsilon = question.base.plan.epsilon().to_f64();
        let expected = closed_form(wanted, features.into(), epsilon, rates);
        let ratio = f64::from(found.choice.patients) / expected;
        println!("{plan} {rates:?} {wanted}: {} for {expected:.0}", found.choice.patients);
        assert!((ratio - 1.0).abs() < 0.03, "{plan} {rates:?}: {ratio}");
        assert!(found.error.unwrap() < 0.02 * expected, "{found:?}");
    }
}

/// The power that `plan` promises for `interim` is found again with another seed, at 10 settings.
#[test]
fn promised_power_is_found_again() {
    for (plan, rates, wanted) in [
        ("features=1 epsilon=1 alpha=1/4", [0.35, 0.50], 0.8),
        ("features=1 epsilon=1 alpha=0", [0.35, 0.45], 0.8),
        ("features=1 epsilon=1/2 alpha=1/2", [0.30, 0.60], 0.8),
        ("features=1 epsilon=2 alpha=1/4", [0.50, 0.40], 0.9),
        ("features=2 epsilon=1 alpha=1/4", [0.50, 0.70], 0.9),
        ("features=4 epsilon=1 alpha=1/4", [0.35, 0.55], 0.8),
        ("features=4 epsilon=1/2 alpha=1/8", [0.35, 0.50], 0.7),
        ("features=4 epsilon=1 alpha=3/4", [0.20, 0.60], 0.8),
        ("features=8 epsilon=1 alpha=1/4", [0.40, 0.65], 0.8),
        ("features=4 epsilon=1 alpha=1/4 scale=10", [0.40, 0.50], 0.8),
    ] {
        let question = question(&format!("{plan} patients=100"), rates[0], wanted);
        let at = choice(&question, rates[1] - rates[0]);
        let found = question.fewest_patients(&at, &question.wish).unwrap().unwrap();
        let mut scenario = question
            .scenario(&found.choice, equipoise::host::planner::search::Effort::Fine)
            .unwrap();
        scenario.seed = 4711;
        let again = run(&scenario).unwrap().excludes_0.unwrap();
        // The error of the promise is that of the last simulation of the search, about the same.
        let error = again.error * f64::sqrt(2.0);
        println!("{plan} {rates:?}: {} patients, {again:?}", found.choice.patients);
        assert!((again.mean - wanted).abs() < 3.0 * error, "{plan}: {again:?} for {wanted}");
        assert!(error < 0.006, "{plan} {error}");
    }
}

/// Plans that would not see their effect are refused, with the reason; nothing is written.
#[test]
fn three_plans_get_dont_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("TRIAL.toml");
    let to = format!("--out={}", out.to_str().unwrap());
    for plan in [
        "--patients=3000 --features=6 --arrivals=zipf --epsilon=0.3 --alpha=1/4 --baseline=0.35 --effect=0.1",
        "--patients=300 --effect=0.15 --baseline=0.35 --features=4 --epsilon=1 --alpha=1/4",
        "--patients=4000 --baseline=0.03 --effect=-0.015 --features=4 --epsilon=1 --alpha=1/4",
    ] {
        let words: Vec<&str> = ["plan", &to].into_iter().chain(plan.split(' ')).collect();
        let (code, text, error) = equipoise(&words);
        println!("{error}");
        assert_eq!((code, text.as_str()), (Some(1), ""), "{plan}\n{error}");
        for reason in ["don't: too small to see the effect", "wide", "Enough for a power of 80.0 %"]
        {
            assert!(error.contains(reason), "{plan}\n{error}");
        }
        assert!(!Path::new(&out).exists());
    }
}

/// More patients waiting than the board has room for: refused before anything is simulated.
#[test]
fn waiting_patients_must_fit_the_board() {
    let plan =
        "plan --patients 4000 --baseline 0.35 --effect 0.3 --features 4 --epsilon 1 --alpha 1/4";
    let plan = |more: &[&str]| equipoise(&[&plan.split(' ').collect::<Vec<_>>(), more].concat());
    let (code, _, error) = plan(&["--follow-up", "30 days", "--per-day", "10"]);
    assert!(code == Some(1) && error.contains("300 patients wait"), "{error}");
    assert!(error.contains("room for 256") && error.contains("--board pico2"), "{error}");
    for board in ["--board=pico2", "--board=v2"] {
        let (code, text, error) = plan(&["--follow-up=30 days", "--per-day=10", board]);
        assert!(code == Some(0) && text.contains("--delay 300"), "{text}{error}");
    }
    let (code, _, error) = plan(&["--delay", "5000", "--board", "v2"]);
    assert!(code == Some(1) && error.contains("no board has"), "{error}");
    // A negative effect is read with and without its 0.
    for effect in ["-0.015", "-.015"] {
        let plan = ["plan", "--patients=4000", "--baseline=0.03", "--effect", effect];
        let (code, _, error) = equipoise(&[&plan[..], &["--epsilon=1", "--delay=300"]].concat());
        assert!(code == Some(1) && error.contains("300 patients wait"), "{effect}: {error}");
    }
}

/// Given power, `plan` finds the patients; given patients, the effect, epsilon or alpha.
#[test]
fn what_is_missing_is_found() {
    let wanted = "plan --effect 0.2 --baseline 0.35 --features 4 --power 0.8 --epsilon 1";
    let (code, text, error) = equipoise(&wanted.split(' ').collect::<Vec<_>>());
    println!("{text}");
    assert_eq!(code, Some(0), "{error}");
    for words in ["interim", "uniform", "fixed, no privacy", "patients for a power of 80.0 %"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(text.contains("Adaptation pays") || text.contains("USE A FIXED TRIAL"), "{text}");
    let common = "plan --baseline 0.35 --features 2 --patients 3000";
    for (more, words) in [
        ("--power 0.8 --epsilon 1", "an effect of 0.1"),
        ("--power 0.8 --effect 0.2", "epsilon "),
        ("--better 0.7 --effect 0.3 --epsilon 1", "alpha "),
        ("--regret 200 --effect 0.3 --epsilon 1", "alpha "),
        ("--effect 0.3 --epsilon 1 --alpha 1/4", "3000 patients, epsilon 1, alpha 1/4"),
    ] {
        let (code, text, error) =
            equipoise(&common.split(' ').chain(more.split(' ')).collect::<Vec<_>>());
        assert!(
            code == Some(0) && text.lines().next().unwrap().contains(words),
            "{more}: {text}{error}"
        );
    }
    for (more, words) in [
        ("--power 0.8", "--effect and --epsilon are not given"),
        ("--effect 0.2", "--epsilon is to be found: say what is wanted"),
        ("--power 0.99 --effect 0.1 --epsilon 1/10 --alpha 1/4", "out of reach"),
    ] {
        let (code, text, error) =
            equipoise(&common.split(' ').chain(more.split(' ')).collect::<Vec<_>>());
        assert!(code != Some(0) && text.is_empty() && error.contains(words), "{more}: {error}");
    }
}

/// Parts of a grid, put behind each other without their headings, are the whole; the shell example
/// does just that.
#[test]
fn parts_of_a_grid_make_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let grid = "runs = 20\n[plan]\nfeatures = 2\npatients = [100, 200]\nepsilon = 1\n\
                [world]\nbaseline = 0.3\neffect = 0.25\n";
    std::fs::write(at("grid.toml"), grid).unwrap();
    let run = |name: &str, shard: &str| {
        let (grid, csv) = (at("grid.toml"), at(name));
        let args = ["simulate", "--scenarios", &grid, "--csv", &csv, "--shard", shard];
        let (code, text, error) = equipoise(&args);
        assert!(code == Some(0) && text.contains("one-against") || shard != "1/1", "{error}");
        std::fs::read_to_string(csv).unwrap()
    };
    let whole = run("whole.csv", "1/1");
    assert_eq!(whole.lines().count(), 1 + 2 * 5 * 3 * 3);
    let parts = ["1/3", "2/3", "3/3"].map(|part| run(&format!("{}.csv", &part[..1]), part));
    let heading = whole.lines().next().unwrap();
    let body = parts.iter().flat_map(|part| part.lines().skip(1));
    assert!([heading].into_iter().chain(body).eq(whole.lines()));
    let bin = Path::new(env!("CARGO_BIN_EXE_equipoise")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/grid.sh");
    let result = at("result.csv");
    std::fs::create_dir(format!("{result}.parts")).unwrap();
    for verb in [&["part", "1"][..], &["part", "2"], &["join"]] {
        let grid = at("grid.toml");
        let args = [&[verb[0], &grid, &result, "2"], &verb[1..]].concat();
        let done = Command::new(script).env("PATH", &path).args(args).status().unwrap();
        assert!(done.success(), "{verb:?}");
    }
    assert_eq!(std::fs::read_to_string(result).unwrap(), whole);
    slurm_arrays_make_the_whole(dir.path(), &path, &whole);
}

/// The Slurm scripts, with an `sbatch` that runs the tasks of an array in turn as Slurm would.
fn slurm_arrays_make_the_whole(dir: &Path, path: &str, whole: &str) {
    const SBATCH: &str = "#!/bin/sh\nset -e\narray=\nwhile :; do case $1 in\n\
        --array=1-*) array=${1#--array=1-} ;;\n--*) ;;\n*) break ;;\nesac; shift; done\n\
        if [ -z \"$array\" ]; then exec \"$@\"; fi\n\
        for i in $(seq $array); do SLURM_ARRAY_TASK_ID=$i \"$@\" >&2; done\necho 4711\n";
    let sbatch = dir.join("sbatch");
    std::fs::write(&sbatch, SBATCH).unwrap();
    std::fs::set_permissions(&sbatch, Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{path}", dir.display());
    let run = |script: &str, args: &[&str]| {
        let script = format!("{}/examples/{script}", env!("CARGO_MANIFEST_DIR"));
        let done = Command::new(script).env("PATH", &path).current_dir(dir).args(args).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
    run("grid.sh", &["slurm", "grid.toml", "array.csv", "3"]);
    assert_eq!(read("array.csv"), whole);
    let simulation = ["--patients", "400", "--features", "2", "--runs", "30"];
    run("slurm.sh", &[&["submit", "array.json", "4"], &simulation[..]].concat());
    let json = dir.join("one.json");
    let (code, _, error) =
        equipoise(&[&["simulate", "--json", json.to_str().unwrap()], &simulation[..]].concat());
    assert_eq!(code, Some(0), "{error}");
    assert_eq!(read("array.json"), read("one.json"));
}

/// The dossier is one page that loads nothing and runs nothing, with all its sections.
#[test]
fn dossier_is_one_page() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("dossier.html");
    let to = format!("--dossier={}", page.to_str().unwrap());
    let plan =
        "plan --patients 400 --features 2 --baseline 0.45 --effect 0.4 --epsilon 1 --alpha 1/4";
    let title = "--title=A <trial> & more";
    let args: Vec<&str> = plan.split(' ').chain([to.as_str(), title]).collect();
    let (code, text, error) = equipoise(&args);
    assert!(code == Some(0) && text.contains("The dossier is in"), "{error}");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("A &lt;trial&gt; &amp; more"));
    for absent in
        ["<script", "<link", "<img", "@import", "url(http", "src=", "href=", "NaN", "inf "]
    {
        assert!(!html.contains(absent), "{absent}");
    }
    for section in [
        "1. The design in plain words",
        "2. The plan and its assumptions",
        "3. Operating characteristics",
        "4. If the assumptions are wrong",
        "5. Power over patients and effect",
        "6. What privacy and adaptation cost",
        "7. What is promised to a patient",
        "8. What the device cannot do",
        "9. How to find every number again",
        "--design interim,uniform,fixed",
        "one-against",
        "[[scenario]]",
        "url(#plane1)",
    ] {
        assert!(html.contains(section), "{section}");
    }
    // It is not overwritten, and nothing is simulated to find that out.
    let (code, _, error) = equipoise(&args);
    assert!(code == Some(2) && error.contains("exists and is not overwritten"), "{error}");
}
