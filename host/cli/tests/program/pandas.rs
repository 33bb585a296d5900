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
texts = {"name", "effects", "design", "level", "arrivals"}
for column in csv.columns:
    is_number = pandas.api.types.is_numeric_dtype(csv[column])
    assert is_number == (column not in texts), (column, csv[column].dtype)
    if is_number:
        gap = (csv[column] - json[column]).abs().max()
        assert not gap > 1e-12, (column, gap)
        assert (csv[column].isna() == json[column].isna()).all(), column
power = csv[csv.level == "overall"].pivot_table("excludes_0", ["patients", "effects"], "design")
assert power.shape == (10, 3), power
features = csv[csv.level == "feature"]
null = features[features.p0 == features.p1].excludes_0.mean()
assert null < 0.15 < power.loc[(400, "planned"), "uniform"], power
assert ((features.effect - (features.p1 - features.p0)).abs() < 1e-12).all()
print(power)
"#;

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
