//! `equipoise simulate`, `merge`, `pareto` and `plan` as commands.

use crate::common::ward::equipoise;
use equipoise::plan::Plan;
use equipoise_study::simulate::{Instance, Scenario, run};

/// Merged shards are the single run byte for byte; wrong sets are refused. Requirement S12.
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

/// Shards, grids and their tables are stored: the same command gives the bytes that were stored,
/// and a stored shard is read and written back as it was. Tables may have more columns behind.
#[test]
fn stored_files_keep_their_bytes() {
    let golden =
        |name: &str| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/").to_owned() + name;
    let same = |words: &[&str], name: &str| {
        let (code, text, error) = equipoise(words);
        assert_eq!((code, error.as_str()), (Some(0), ""), "{words:?}");
        let stored = std::fs::read_to_string(golden(name)).unwrap();
        assert!(name != "shard.json" || text == stored, "{words:?} differs from {name}");
        assert_eq!(text.lines().count(), stored.lines().count(), "{words:?} differs from {name}");
        for (line, stored) in text.lines().zip(stored.lines()) {
            let stored = stored.trim_end_matches(['}', ',']);
            assert!(line.starts_with(stored), "{words:?} differs from {name}:\n{line}\n{stored}");
        }
    };
    let world = "--arrivals shares:1,2 --delay 3..9 --lost 0.1,0.2 --drift 0.1 --runs 4 --seed 7";
    let plan = "simulate --design interim,fixed --features 2 --patients 60 --reports 1";
    // Rates by their present and their former names.
    for rates in ["--baseline 0.3,0.5 --effect 0.3,-0.1", "--p0 0.3,0.5 --p1 0.6,0.4"] {
        let command = [plan, rates, world].join(" ");
        let words: Vec<&str> = command.split(' ').collect();
        for (more, name) in [
            (&["--json", "-"][..], "shard.json"),
            (&["--csv", "-"], "shard.csv"),
            (&[], "shard.txt"),
        ] {
            same(&[&words[..], more].concat(), name);
        }
    }
    same(&["merge", &golden("shard.json"), "--json", "-"], "shard.json");
    for (form, name) in [("--csv", "grid.csv"), ("--json", "grid.json")] {
        same(&["simulate", "--scenarios", &golden("grid.toml"), form, "-"], name);
    }
}

/// The world has the same options on every command that simulates one.
#[test]
fn commands_share_the_options_of_the_world() {
    let help = |command: &str| {
        let (code, text, error) = equipoise(&[command, "--help"]);
        assert_eq!(code, Some(0), "{error}");
        text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
    };
    for command in ["simulate", "pareto", "normality", "plan"] {
        let text = help(command);
        for key in &equipoise_study::simulate::world::KEYS {
            let help = key.help.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(&help), "{command} --{}: {text}", key.name);
            assert!(text.contains(&format!("[default: {}]", key.default)), "{command}: {text}");
        }
        for option in ["--baseline", "--effect", "--design", "--seed"] {
            assert!(text.contains(&format!("{option} <")), "{command} {option}");
        }
        assert!(!text.contains("--p1") && !text.contains("--designs"), "{command}: {text}");
    }
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
            "design=best allowed conse dp-conse interim uniform fixed ucb1 thompson thompson-aipw \
             etc[:SHARE]",
        ),
        ("--runs 0", "0 is not in 1..=1000000"),
        ("--runs many", "'many' for '--runs"),
        ("--seed -1x", "'-1x' for '--seed"),
        ("--baseline 0.1,0.2", "baseline=2 rates allowed one rate, or one a feature of the plan"),
        ("--effect 0.7", "baseline + effect=1.05 allowed 0..=1"),
        ("--effect 1.7", "'1.7' for '--effect <D>': allowed -1..=1"),
        ("--p1 1.01", "'1.01' for '--p1 <P1>': allowed 0..=1"),
        ("--shard 0/3", "shard=0/3 allowed I/K with 1 <= I <= K <= runs"),
        ("--shard 1/2000", "shard=1/2000 allowed I/K with 1 <= I <= K <= runs"),
        ("--delay 9..3", "delay=9..3 allowed D or A..B patients, 0..=16000, A at most B"),
        ("--sd 0.3", "sd=0.3 allowed with a scale above 1"),
        ("--sd wide", "sd=wide allowed a number"),
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
        ([&["simulate"], &small[..]].concat(), "--runs-csv", "r.csv"),
        (vec!["merge", &part], "--json", "m.json"),
        (vec!["merge", &part], "--csv", "m.csv"),
        ([&["pareto"], &small[..]].concat(), "--out", "p.svg"),
        ([&["pareto"], &small[..]].concat(), "--out", "p.csv"),
        ([&["pareto"], &small[..]].concat(), "--out", "p.png"),
        ([&["normality"], &small[..]].concat(), "--out", "n.svg"),
        (plan.to_vec(), "--out", "t.toml"),
        (vec!["audit", "--structured", "--design=uniform"], "--out", "a.svg"),
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
    let width = lines[0].len();
    assert!(width >= 39 && lines.iter().all(|line| line.len() == width), "{out}");
    assert!(lines[1][23].is_empty(), "{out}");
}

/// Lines of `--csv` can be told apart when they are put together: by the rates, every key of the
/// plan, the boundary that the design uses, and the assumed deviations.
#[test]
fn csv_lines_say_what_they_are() {
    let command = "simulate --design uniform,fixed --features 2 --patients 400 --runs 3 --scale 10 \
                   --sd 0.25 --reports 2 --boundary pocock --baseline 0.3,0.4 --effect 0.1 \
                   --epsilon 1/2 --csv -";
    let (code, out, error) = equipoise(&command.split_ascii_whitespace().collect::<Vec<_>>());
    assert_eq!(code, Some(0), "{error}");
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split(',').collect()).collect();
    let of = |row: usize, name: &str| {
        let column = lines[0].iter().position(|column| *column == name);
        lines[row][column.unwrap_or_else(|| panic!("{name}: {out}"))]
    };
    for (name, value) in [
        ("features", "2"),
        ("patients", "400"),
        ("scale", "10"),
        ("alpha", "0.25"),
        ("epsilon", "0.5"),
        ("beta", "0.05"),
        ("reports", "2"),
        ("close", "custodian"),
        ("kits", "0"),
        ("better", "high"),
        ("results", "custodian"),
        ("p0", "0.3 0.4"),
        ("p1", "0.4 0.5"),
        ("sd0", "0.25"),
        ("sd1", "0.25"),
    ] {
        assert_eq!((of(1, name), of(2, name)), (value, value), "{name}");
    }
    assert_eq!((of(1, "boundary"), of(2, "boundary")), ("pocock", "none"));
    assert_eq!((of(1, "planned_effect"), of(2, "planned_effect")), ("0.1", ""));
    assert!(!of(1, "futile").is_empty() && of(2, "futile").is_empty());
    let heading: std::collections::BTreeSet<&str> = lines[0].iter().copied().collect();
    assert_eq!(heading.len(), lines[0].len(), "a name twice: {out}");
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
    let trial = equipoise_ward::records::trial_file::TrialFile::read(&out).unwrap();
    assert_eq!((trial.title.as_str(), trial.plan.patients()), ("A \"quoted\" trial", 2000));
    let better = |epsilon: &str, alpha: &str| {
        let plan = format!("features=2 patients=2000 better=high epsilon={epsilon} alpha={alpha}");
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
    let few = "plan --features=2 --patients=200 --baseline=0.3 --effect=0.4 --width=1.5";
    let few: Vec<&str> = few.split(' ').chain(["--design=interim", &to]).collect();
    let (code, text, error) = equipoise(&few);
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
