//! Kinds of patient by factors: properties such as sex or age group, each with its levels.
//!
//! The device knows features by number only. With factors the features are all combinations of
//! levels, the last factor counting fastest: `sex = [f, m]` and `age = [under 65, 65 or over]` give
//! the features `f, under 65`, `f, 65 or over`, `m, under 65`, `m, 65 or over`. A flat list of
//! kinds is one factor without a name.

use crate::records::text;

/// Most combinations of levels.
pub const MAX_KINDS: usize = 64;
/// Longest name of a factor or a level.
const MAX_NAME: usize = 80;
/// Options of `assign` that no factor may be named after.
const TAKEN: [&str; 8] = ["factor", "help", "json", "log", "operator", "port", "trial", "version"];

/// A property of patients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// Its name; empty where the trial file gives a flat list of kinds.
    pub name: String,
    /// Its levels, in order.
    pub levels: Vec<String>,
}

/// The factors of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factors(Vec<Factor>);

impl Factors {
    /// A flat list of kinds.
    #[must_use]
    pub fn flat(levels: Vec<String>) -> Self {
        Self(vec![Factor { name: String::new(), levels }])
    }

    /// Factors by name, in order.
    ///
    /// # Errors
    /// The key, its value and what is allowed.
    pub fn new(factors: Vec<(String, Vec<String>)>) -> Result<Self, String> {
        let mut kinds = 1_usize;
        for (name, levels) in &factors {
            let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
            let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
            if !starts
                || !name.chars().all(good)
                || name.len() > MAX_NAME
                || TAKEN.contains(&name.as_str())
            {
                return Err(format!(
                    "factors.{name:?}, allowed lower case letters, digits, - and _, a letter first, and none of {}",
                    TAKEN.join(" ")
                ));
            }
            names(&format!("factors.{name}"), levels)?;
            kinds = kinds.saturating_mul(levels.len());
        }
        if factors.is_empty() || kinds > MAX_KINDS {
            return Err(format!(
                "factors have {kinds} combinations, allowed 1 to {MAX_KINDS}, at least one factor"
            ));
        }
        Ok(Self(factors.into_iter().map(|(name, levels)| Factor { name, levels }).collect()))
    }

    /// All factors, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Factor> {
        self.0.iter()
    }

    /// Whether the trial file gives factors by name.
    #[must_use]
    pub fn are_named(&self) -> bool {
        self.0.iter().any(|factor| !factor.name.is_empty())
    }

    /// A factor by its place.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&Factor> {
        self.0.get(place)
    }

    /// The names of all features, in the device's order.
    #[must_use]
    pub fn kinds(&self) -> Vec<String> {
        let mut kinds = vec![String::new()];
        for factor in &self.0 {
            let with = |kind: &String| {
                let between = if kind.is_empty() { "" } else { ", " };
                factor
                    .levels
                    .iter()
                    .map(move |level| format!("{kind}{between}{level}"))
                    .collect::<Vec<_>>()
            };
            kinds = kinds.iter().flat_map(with).collect();
        }
        kinds
    }

    /// The feature with these levels; none before every factor has one.
    #[must_use]
    pub fn feature(&self, levels: &[usize]) -> Option<u8> {
        if levels.len() != self.0.len() {
            return None;
        }
        let places = levels.iter().zip(&self.0);
        let feature =
            places.fold(0, |feature, (level, factor)| feature * factor.levels.len() + level);
        u8::try_from(feature).ok()
    }

    /// The levels of a feature, one a factor.
    #[must_use]
    pub fn levels(&self, feature: u8) -> Vec<usize> {
        let mut rest = usize::from(feature);
        let mut levels = Vec::new();
        for factor in self.0.iter().rev() {
            let length = factor.levels.len().max(1);
            levels.insert(0, rest % length);
            rest /= length;
        }
        levels
    }

    /// The feature with these levels by name, one a factor, in any order.
    ///
    /// # Errors
    /// A factor or level that is not in the trial file, given twice, or missing, and what is
    /// allowed.
    pub fn named(&self, given: &[(String, String)]) -> Result<u8, String> {
        let known =
            || self.0.iter().map(|factor| factor.name.as_str()).collect::<Vec<_>>().join(", ");
        if !self.are_named() {
            return Err(
                "this trial has a flat list of kinds: give the kind of patient by its name"
                    .to_owned(),
            );
        }
        if let Some((name, _)) =
            given.iter().find(|(name, _)| !self.0.iter().any(|factor| factor.name == *name))
        {
            return Err(format!("no factor {name:?}, allowed {}", known()));
        }
        let mut levels = Vec::new();
        for Factor { name, levels: allowed } in &self.0 {
            let values: Vec<&String> =
                given.iter().filter(|(key, _)| key == name).map(|(_, value)| value).collect();
            let [value] = values.as_slice() else {
                let times = if values.is_empty() { "missing" } else { "given twice" };
                return Err(format!(
                    "--{name} is {times}, allowed one of \"{}\"",
                    allowed.join("\", \"")
                ));
            };
            let level = allowed.iter().position(|level| level == value.trim());
            levels.push(level.ok_or_else(|| {
                format!("--{name} {value:?}, allowed one of \"{}\"", allowed.join("\", \""))
            })?);
        }
        self.feature(&levels).ok_or_else(|| format!("the factors are {}", known()))
    }
}

/// Checks a list of different names.
///
/// # Errors
/// The key, its value and what is allowed.
pub fn names(key: &str, names: &[String]) -> Result<(), String> {
    if names.is_empty() {
        return Err(format!("{key} is empty, allowed at least one name"));
    }
    for (place, name) in names.iter().enumerate() {
        text::check(&format!("{key}[{place}]"), name, MAX_NAME)?;
        if names.iter().take(place).any(|earlier| earlier == name) {
            return Err(format!(
                "{key}[{place}] = {name:?} is there twice, allowed different names"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(list: &[(&str, &[&str])]) -> Result<Factors, String> {
        let owned = |(name, levels): &(&str, &[&str])| {
            ((*name).to_owned(), levels.iter().map(|level| (*level).to_owned()).collect())
        };
        Factors::new(list.iter().map(owned).collect())
    }

    /// Every combination has one feature, and the other way round.
    #[test]
    fn features_are_combinations() {
        let trial =
            factors(&[("sex", &["f", "m"]), ("age", &["young", "old", "very old"])]).unwrap();
        let kinds = trial.kinds();
        assert_eq!(kinds.len(), 6);
        assert_eq!(kinds[4], "m, old");
        for (feature, kind) in (0..).zip(&kinds) {
            let levels = trial.levels(feature);
            assert_eq!(trial.feature(&levels), Some(feature));
            let names: Vec<(String, String)> = trial
                .iter()
                .zip(&levels)
                .map(|(factor, level)| (factor.name.clone(), factor.levels[*level].clone()))
                .collect();
            assert_eq!(trial.named(&names), Ok(feature), "{kind}");
        }
        assert_eq!(trial.feature(&[0]), None, "a factor is missing");
    }

    #[test]
    fn wrong_factors_are_named() {
        let trial = factors(&[("sex", &["f", "m"]), ("age", &["young", "old"])]).unwrap();
        let given = |list: &[(&str, &str)]| {
            let owned: Vec<_> =
                list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            trial.named(&owned).unwrap_err()
        };
        assert_eq!(given(&[("sex", "f")]), "--age is missing, allowed one of \"young\", \"old\"");
        assert_eq!(
            given(&[("sex", "x"), ("age", "old")]),
            "--sex \"x\", allowed one of \"f\", \"m\""
        );
        assert_eq!(given(&[("size", "x")]), "no factor \"size\", allowed sex, age");
        assert!(
            given(&[("sex", "f"), ("sex", "m"), ("age", "old")])
                .starts_with("--sex is given twice")
        );
        let many: Vec<String> = (0..9).map(|level| level.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let error = factors(&[("a", &many), ("b", &many)]).unwrap_err();
        assert_eq!(error, "factors have 81 combinations, allowed 1 to 64, at least one factor");
        assert!(factors(&[("port", &["a"])]).is_err() && factors(&[("Sex", &["a"])]).is_err());
    }
}
