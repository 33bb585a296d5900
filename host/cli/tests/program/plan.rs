//! `equipoise plan` and grids as people and scripts run them.

use crate::common::ward::{PROGRAM, ROOT, equipoise};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Plans that would not see their effect are refused, with the reason; nothing is written.
/// Requirement S9.
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
        let words = ["plan", "--design=interim", &to].into_iter().chain(plan.split(' '));
        let words: Vec<&str> = words.collect();
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
        // The bedside knows when outcomes are due, and the reader how long it all takes.
        assert!(text.contains("due = \"30 days\""), "{text}");
        let long = "about 14.1 months (430 days): 400 days of enrolment at 10 patients a day";
        assert!(text.contains(long), "{text}");
    }
    let (code, _, error) = equipoise(&["plan", "--patients=1584286", "--baseline=0.3"]);
    assert!(code == Some(2) && error.contains("1584286 is not in 2..=1048576"), "{error}");
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
    assert!(text.contains("Adaptation pays") || text.contains("A FIXED TRIAL"), "{text}");
    assert!(text.contains("(1) The overall effect is ") && text.contains("\nNOT A TEST under"));
    let common = "plan --baseline 0.35 --features 2 --patients 3000";
    for (more, words) in [
        ("--power 0.8 --epsilon 1", "an effect of 0.0"),
        ("--power 0.8 --effect 0.2", "epsilon "),
        ("--better 0.7 --effect 0.3 --epsilon 1", "alpha "),
        ("--regret 200 --effect 0.3 --epsilon 1", "alpha "),
        (
            "--effect 0.3 --epsilon 1 --alpha 1/4 --design interim",
            "3000 patients, epsilon 1, alpha 1/4",
        ),
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

/// A plan for the overall effect of an adaptive trial has a warning below its first line, every
/// table with such a trial has one below it, and tables of fixed trials have none.
#[test]
fn overall_effect_is_no_test_under_interim() {
    let plan =
        "plan --patients 400 --features 2 --baseline 0.3 --effect 0.4 --epsilon 1 --alpha 1/4";
    for (design, of, times) in
        [("interim", "overall", 2), ("interim", "feature", 1), ("uniform", "overall", 0)]
    {
        let words = plan.split(' ').chain(["--of", of, "--design", design]);
        let (code, text, error) = equipoise(&words.collect::<Vec<_>>());
        assert_eq!(code, Some(0), "{error}");
        assert_eq!(
            text.matches("NOT A TEST under interim").count(),
            times,
            "{design} {of}\n{text}"
        );
    }
    let simulate = "simulate --design uniform,fixed --patients 100 --features 2 --runs 2";
    let (_, text, _) = equipoise(&simulate.split(' ').collect::<Vec<_>>());
    assert!(text.contains("The overall effect is") && !text.contains("NOT A TEST"), "{text}");
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
    let bin = Path::new(PROGRAM).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let script = format!("{ROOT}/examples/grid.sh");
    let result = at("result.csv");
    std::fs::create_dir(format!("{result}.parts")).unwrap();
    for verb in [&["part", "1"][..], &["part", "2"], &["join"]] {
        let grid = at("grid.toml");
        let args = [&[verb[0], &grid, &result, "2"], &verb[1..]].concat();
        let done = Command::new(&script).env("PATH", &path).args(args).status().unwrap();
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
        let script = format!("{ROOT}/examples/{script}");
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
    let plan = "plan --patients 400 --features 2 --baseline 0.45 --effect 0.4 --epsilon 1 --alpha 1/4 --design interim";
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
        "<h2>Summary</h2>",
        "mean over kinds of patient, weighted by their (noisy) numbers of outcomes",
        "NOT A TEST under interim",
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

/// `plan` finds more patients with a boundary than without, says what its power means, and its
/// figures are found again by the command it names. A boundary without reports is refused.
#[test]
fn plan_takes_its_boundary_into_account() {
    let wanted = "plan --effect 0.25 --baseline 0.35 --power 0.8 --epsilon 1 --design uniform";
    let plan = |more: &str| {
        let words: Vec<&str> = wanted.split(' ').chain(more.split_whitespace()).collect();
        let (code, text, error) = equipoise(&words);
        assert_eq!(code, Some(0), "{error}");
        text
    };
    let patients = |text: &str| {
        let word = text.split(' ').nth(1).unwrap();
        word.parse::<f64>().unwrap()
    };
    let (plain, bounded) = (plan("--reports 3"), plan("--reports 3 --boundary pocock"));
    let more = patients(&bounded) / patients(&plain);
    println!("{bounded}\n{more}");
    assert!(more > 1.03 && more < 1.25, "{more}");
    assert!(bounded.contains("valid at all reports together (pocock)"), "{bounded}");
    let again = bounded.lines().find(|line| line.starts_with("equipoise simulate")).unwrap();
    assert!(again.contains(" --reports 3 --boundary pocock "), "{again}");
    let words: Vec<&str> = again.split(' ').skip(1).chain(["--csv", "-"]).collect();
    let (code, csv, error) = equipoise(&words);
    assert_eq!(code, Some(0), "{error}");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = rows[0].iter().position(|name| *name == "excludes_0").unwrap();
    let power = rows[1][column].parse::<f64>().unwrap();
    assert!(bounded.contains(&format!(" {:.1} +- ", 100.0 * power)), "{power} {bounded}");
    for more in ["--reports 0 --boundary pocock", "--reports 2 --boundary pocock --design conse"] {
        let words = ["simulate", "--runs", "1", "--patients", "100"].into_iter();
        let (code, _, error) = equipoise(&words.chain(more.split(' ')).collect::<Vec<_>>());
        let why = "boundary=pocock allowed with interim or uniform and reports=1..=8";
        assert!(code == Some(2) && error.contains(why), "{error}");
    }
}

/// Where adaptation does not pay, the file is that of the `uniform` trial, and the adaptive one is
/// written with `--design interim` alone; each names the command of the other.
#[test]
fn the_fixed_trial_is_written_where_it_is_better() {
    let dir = tempfile::tempdir().unwrap();
    let run = |name: &str, more: &[&str]| {
        let out = dir.path().join(name);
        let wanted =
            "plan --effect 0.25 --baseline 0.35 --power 0.8 --epsilon 1/5 --alpha 1/4 --out";
        let words: Vec<&str> = wanted.split(' ').chain([out.to_str().unwrap()]).collect();
        let (code, text, error) = equipoise(&[&words[..], more].concat());
        assert_eq!(code, Some(0), "{error}");
        let trial = equipoise_ward::records::trial_file::TrialFile::read(&out).unwrap();
        (text, trial.plan)
    };
    let (text, plan) = run("fixed.toml", &[]);
    assert_eq!(plan.design().name(), "uniform");
    assert!(text.starts_with("uniform: ") && text.contains("\nA FIXED TRIAL: "), "{text}");
    assert!(text.contains("\nThe interim trial instead:\nequipoise plan --effect 0.25"), "{text}");
    assert!(text.contains(" --design interim\n"), "{text}");
    let (text, adaptive) = run("adaptive.toml", &["--design", "interim"]);
    assert_eq!(adaptive.design().name(), "interim");
    assert!(adaptive.patients() > plan.patients(), "{adaptive} {plan}");
    assert!(text.contains("as asked for, where a fixed one is better"), "{text}");
    assert!(text.contains("\nThe uniform trial instead:\n"), "{text}");
    assert!(text.contains(" --design uniform\n") && !text.contains("interim --design"), "{text}");
}
