//! The table of a grid of scenarios loads in pandas as it is.
//!
//! Needs a Python with pandas, whose path `cargo xtask test` passes in `EQUIPOISE_PYTHON`.

use crate::common::ward::PROGRAM;
use std::process::Command;

const SCRIPT: &str = r#"
import sys
import pandas

csv, json = pandas.read_csv(sys.argv[1]), pandas.read_json(sys.argv[2])
assert list(csv.columns) == list(json.columns), (csv.columns, json.columns)
assert len(csv) == len(json) == 2 * 5 * 3 * 3, len(csv)
texts = {"name", "effects", "design", "of", "arrivals", "boundary", "close",
         "better", "results"}
for column in csv.columns:
    is_number = pandas.api.types.is_numeric_dtype(csv[column])
    assert is_number == (column not in texts), (column, csv[column].dtype)
    if is_number:
        gap = (csv[column] - json[column]).abs().max()
        assert not gap > 1e-12, (column, gap)
        assert (csv[column].isna() == json[column].isna()).all(), column
power = csv[csv.of == "overall"].pivot_table("excludes_0", ["patients", "effects"], "design")
assert power.shape == (10, 3), power
features = csv[csv.of == "feature"]
null = features[features.p0 == features.p1].excludes_0.mean()
assert null < 0.15 < power.loc[(400, "planned"), "uniform"], power
assert ((features.effect - (features.p1 - features.p0)).abs() < 1e-12).all()
assert set(csv.boundary) == {"none"}, set(csv.boundary)
assert len(csv.groupby(["name", "boundary", "design", "patients", "effects", "of"])) == 2 * 5 * 3 * 2
print(power)
"#;

/// Two simulations put together, and their runs.
const RUNS: &str = r#"
import sys
import pandas

tables = pandas.concat([pandas.read_csv(path) for path in sys.argv[1:3]], ignore_index=True)
keys = ["design", "boundary", "p0", "p1", "epsilon", "patients", "features", "alpha", "beta",
        "scale", "reports", "sd0", "sd1", "close", "kits", "better", "results"]
groups = tables.groupby(keys).size()
assert len(groups) == 4 and (groups == 1).all(), groups
assert set(tables.boundary) == {"none", "obrien-fleming"}, set(tables.boundary)
assert tables[tables.design == "fixed"].boundary.eq("none").all()
runs = pandas.read_csv(sys.argv[3])
assert len(runs) == 2 * 300 * 2 and not runs.duplicated(["design", "run", "feature"]).any()
first = tables[tables.p1 == 0.65].set_index("design")
for design, mine in runs.groupby("design"):
    error = mine.estimate - mine.effect
    held = (mine.low <= mine.effect) & (mine.effect <= mine.high)
    settled = mine[mine.settled_at.notna()]
    by_look = held.groupby(mine.settled_at.fillna(-1)).mean()
    print(design, by_look.to_dict())
    assert abs((error ** 2).mean() - first.mse[design]) < 1e-9, design
    worse = mine.patients0.sum() / (mine.patients0 + mine.patients1).sum()
    assert abs(worse - first.worse_share[design]) < 1e-9, design
    assert (design == "interim") == (len(settled) > 0), design
    assert (design == "interim") == mine.coins.notna().all(), design
assert (runs.standard_error > 0).all()
"#;

/// `--csv` and `--runs-csv` answer conditional questions in pandas; no row gets lost in a group.
#[test]
fn runs_load_in_pandas() {
    let python = std::env::var("EQUIPOISE_PYTHON")
        .expect("EQUIPOISE_PYTHON is a Python with pandas; cargo xtask test sets it");
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let run = |more: &[&str]| {
        let common = "simulate --design interim,fixed --features 2 --patients 1600 --runs 300";
        let done = Command::new(PROGRAM).args(common.split(' ')).args(more).status();
        assert!(done.unwrap().success());
    };
    run(&["--csv", &at("one.csv"), "--runs-csv", &at("runs.csv")]);
    run(&["--csv", &at("two.csv"), "--reports=1", "--boundary=obrien-fleming", "--effect=0.1"]);
    let files = [at("one.csv"), at("two.csv"), at("runs.csv")];
    let done = Command::new(python).args(["-c", RUNS]).args(&files).output().unwrap();
    println!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success());
}

#[test]
fn a_grid_loads_in_pandas() {
    let python = std::env::var("EQUIPOISE_PYTHON")
        .expect("EQUIPOISE_PYTHON is a Python with pandas; cargo xtask test sets it");
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let grid = "runs = 200\n[plan]\nfeatures = 2\npatients = [200, 400]\nepsilon = \"1/2\"\n\
                [world]\nbaseline = 0.3\neffect = 0.25\narrivals = \"shares:2,1\"\nlost = \"0,0.1\"\n";
    std::fs::write(at("grid.toml"), grid).unwrap();
    let done = Command::new(PROGRAM)
        .args(["simulate", "--scenarios", &at("grid.toml")])
        .args(["--csv", &at("grid.csv"), "--json", &at("grid.json")])
        .status();
    assert!(done.unwrap().success());
    let done =
        Command::new(python).args(["-c", SCRIPT, &at("grid.csv"), &at("grid.json")]).output();
    let done = done.unwrap();
    println!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success());
}
