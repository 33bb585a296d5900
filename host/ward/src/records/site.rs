//! The report of one site, as `equipoise report --format json` wrote it.

use crate::line::client::Report;
use crate::records::keys::KeyFile;
use crate::records::report::middle;
use equipoise::plan::{Better, DesignName, Plan};
use equipoise::wire::{
    Ending, FileDigest, Hex, LastLook, Micro, Row, RowArm, RowBasis, Stage, TrialId,
};
use equipoise_study::pool::{Combined, SiteEstimate, combine};

/// A row of the file.
#[derive(Clone, Debug, serde::Deserialize)]
struct RawRow {
    feature: Option<u8>,
    name: String,
    estimate: f64,
    standard_error: f64,
    low: f64,
    high: f64,
    outcomes: u32,
    spent: Option<f64>,
    half: Option<f64>,
    looks: Option<u32>,
    windows: Option<u8>,
    n0: Option<u32>,
    mean0: Option<f64>,
    n1: Option<u32>,
    mean1: Option<f64>,
}

#[derive(Clone, Debug, serde::Deserialize)]
struct Raw {
    trial: String,
    title: String,
    file: String,
    plan: Option<String>,
    stage: String,
    look: Option<u8>,
    of: Option<u8>,
    at: Option<u32>,
    enrolled: u32,
    resolved: u32,
    counted: u32,
    rows: Vec<RawRow>,
    overall: Option<RawRow>,
    mac: String,
}

/// The report of one site.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its name: that of the file.
    pub name: String,
    raw: Raw,
}

fn micro(value: f64) -> Micro {
    Micro((value * 1e6).round() as i32)
}

impl RawRow {
    fn basis(&self) -> Option<RowBasis> {
        let arm = |outcomes: Option<u32>, mean: Option<f64>| {
            Some(RowArm { outcomes: outcomes?, mean: micro(mean?) })
        };
        Some(RowBasis {
            spent: micro(self.spent?),
            half: micro(self.half?),
            looks: self.looks?,
            windows: self.windows?,
            arms: [arm(self.n0, self.mean0)?, arm(self.n1, self.mean1)?],
        })
    }
}

/// Result of the check of the MACs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Macs {
    /// There was no key.
    NotChecked,
    /// All of them are right.
    Right,
}

fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let digits = hex.len() == 2 * N && hex.is_ascii();
    let byte = |i: usize| u8::from_str_radix(hex.get(2 * i..2 * i + 2)?, 16).ok();
    let list: Option<Vec<u8>> = digits.then(|| (0..N).map(byte).collect())?;
    list?.try_into().ok()
}

impl Site {
    /// Reads a file; `name` is the site's.
    ///
    /// # Errors
    /// Text that is not such a report.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let raw = serde_json::from_str(text).map_err(|error| {
            format!("{name}: no report of `equipoise report --format json`: {error}")
        })?;
        Ok(Self { name: name.to_owned(), raw })
    }

    /// The report as the device sent it, and the plan and digest its MAC covers.
    pub(crate) fn report(&self) -> Option<(Report, Plan, FileDigest)> {
        let row = |row: &RawRow| {
            Some(Row {
                feature: row.feature?,
                estimate: micro(row.estimate),
                low: micro(row.low),
                high: micro(row.high),
                outcomes: row.outcomes,
                error: micro(row.standard_error),
                basis: row.basis(),
            })
        };
        let rows: Vec<Row> = self.raw.rows.iter().map(row).collect::<Option<_>>()?;
        let Raw { look, of, at, .. } = self.raw;
        let end = Ending {
            rows: u8::try_from(rows.len()).ok()?,
            stage: Stage::named(self.raw.stage.as_bytes())?,
            look: look.zip(of).map(|(number, of)| LastLook { number, of, at }),
            assigned: self.raw.enrolled,
            resolved: self.raw.resolved,
            counted: self.raw.counted,
        };
        let report = Report {
            trial: TrialId(bytes(&self.raw.trial)?),
            rows,
            end,
            mac: bytes(&self.raw.mac)?,
        };
        let plan = Plan::parse(self.raw.plan.as_deref()?).ok()?;
        Some((report, plan, FileDigest(bytes(&self.raw.file)?)))
    }

    /// Noisy number of outcomes of all rows, if the report is of the trial with this id.
    ///
    /// # Errors
    /// It is of another trial.
    pub fn outcomes_of(&self, trial: Option<&str>) -> Result<u32, String> {
        self.is_of(trial)?;
        Ok(self.raw.rows.iter().map(|row| row.outcomes).sum())
    }

    /// Checks that the report is of the trial with this id.
    ///
    /// # Errors
    /// It is of another trial.
    pub fn is_of(&self, trial: Option<&str>) -> Result<(), String> {
        if trial.is_none_or(|trial| trial != self.raw.trial) {
            return Err(format!(
                "{} is the report of trial {}, the log is of {}",
                self.name,
                self.raw.trial,
                trial.unwrap_or("no trial")
            ));
        }
        Ok(())
    }

    /// Whether the MAC is right under one of the keys.
    fn is_signed(&self, keys: &[KeyFile]) -> bool {
        let Some((report, plan, file)) = self.report() else { return false };
        keys.iter().any(|key| key.signed(&plan, file, &report))
    }
}

/// Checks that the reports belong together.
///
/// # Errors
/// The first mismatch, with the names of the files.
pub fn check(sites: &[Site], keys: &[KeyFile]) -> Result<Macs, String> {
    let Some(first) = sites.first() else { return Err("no reports".into()) };
    for (place, site) in sites.iter().enumerate() {
        let twice = |other: &&Site| other.raw.trial == site.raw.trial;
        if let Some(other) = sites.iter().take(place).find(twice) {
            return Err(format!(
                "{} and {} are reports of the same trial {} of one device: a patient must not \
                 count twice",
                other.name, site.name, site.raw.trial
            ));
        }
        if site.raw.file != first.raw.file {
            return Err(format!(
                "{} is of trial file {}, {} of {}: only devices with the same trial file can be \
                 pooled",
                first.name, first.raw.file, site.name, site.raw.file
            ));
        }
        if !keys.is_empty() && !site.is_signed(keys) {
            return Err(format!(
                "{}: the MAC is wrong under every key given: another key, another plan, or changed \
                 rows",
                site.name
            ));
        }
    }
    Ok(if keys.is_empty() { Macs::NotChecked } else { Macs::Right })
}

/// The title of the trial.
#[must_use]
pub fn title(sites: &[Site]) -> &str {
    sites.first().map_or("", |site| &site.raw.title)
}

/// The better outcomes of the trial, where the reports have its plan.
#[must_use]
pub fn better(sites: &[Site]) -> Option<Better> {
    let plan = sites.first().and_then(|site| Plan::parse(site.raw.plan.as_deref()?).ok());
    plan.map(|plan| plan.better())
}

/// Patients enrolled at all sites.
#[must_use]
pub fn enrolled(sites: &[Site]) -> u64 {
    sites.iter().map(|site| u64::from(site.raw.enrolled)).sum()
}

/// Whether a site ran `interim`, or does not say what it ran.
#[must_use]
pub fn has_interim(sites: &[Site]) -> bool {
    let design =
        |site: &Site| Plan::parse(site.raw.plan.as_deref()?).ok().map(|plan| plan.design());
    sites.iter().any(|site| design(site).is_none_or(|design| design == DesignName::Interim))
}

/// Every feature, then the overall effect; and the names of those about which no site says
/// anything.
#[must_use]
pub fn pool(sites: &[Site]) -> (Vec<Combined>, Vec<String>) {
    let mut features: Vec<(u8, &str)> = Vec::new();
    for row in sites.iter().flat_map(|site| &site.raw.rows) {
        if let Some(feature) = row.feature.filter(|j| !features.iter().any(|(k, _)| k == j)) {
            features.push((feature, &row.name));
        }
    }
    features.sort_unstable();
    let estimate_of = |site: &Site, row: &RawRow| SiteEstimate {
        site: site.name.clone(),
        estimate: middle(row.estimate, row.standard_error, [row.low, row.high]),
        error: row.standard_error,
    };
    let of = |feature: u8| {
        let row = |site: &Site| {
            let row = site.raw.rows.iter().find(|row| row.feature == Some(feature))?;
            Some(estimate_of(site, row))
        };
        sites.iter().filter_map(row).collect::<Vec<_>>()
    };
    let overall =
        sites.iter().filter_map(|site| Some(estimate_of(site, site.raw.overall.as_ref()?)));
    let all = features.iter().map(|(j, name)| (*name, of(*j)));
    let (mut effects, mut nowhere) = (Vec::new(), Vec::new());
    for (name, parts) in all.chain([("overall", overall.collect())]) {
        let is_known = !parts.is_empty();
        match combine(name, parts) {
            Some(effect) => effects.push(effect),
            None if is_known => nowhere.push(name.to_owned()),
            None => {}
        }
    }
    (effects, nowhere)
}

/// The digest as the files hold it.
#[must_use]
pub fn digest_text(digest: FileDigest) -> String {
    Hex(&digest.0).to_string()
}

/// Checks that all reports are of the trial file with this digest.
///
/// # Errors
/// The first report that is not.
pub fn check_digest(sites: &[Site], digest: &str) -> Result<(), String> {
    match sites.iter().find(|site| site.raw.file != digest) {
        None => Ok(()),
        Some(site) => Err(format!(
            "{}: the device ran trial file {}, this one has {digest}",
            site.name, site.raw.file
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(name: &str, features: &[u8]) -> Site {
        let row = |feature: &u8| {
            format!(
                "{{\"feature\":{feature},\"name\":\"kind {feature}\",\"estimate\":0.1,\
                 \"standard_error\":0.1,\"low\":-0.1,\"high\":0.3,\"outcomes\":9}}"
            )
        };
        let rows: Vec<String> = features.iter().map(row).collect();
        let text = format!(
            "{{\"trial\":\"{name}\",\"title\":\"t\",\"file\":\"0011\",\"plan\":null,\
             \"stage\":\"final\",\"counted\":9,\"enrolled\":9,\"resolved\":9,\"rows\":[{}],\"overall\":null,\"mac\":\"\"}}",
            rows.join(",")
        );
        Site::parse(name, &text).unwrap()
    }

    /// Features stand in their order, also if the first site has no row of some; each has the sites
    /// that have it.
    #[test]
    fn features_of_all_sites_in_order() {
        let (pooled, nowhere) = pool(&[site("a", &[2]), site("b", &[0, 2])]);
        assert!(nowhere.is_empty());
        let found: Vec<_> =
            pooled.iter().map(|effect| (effect.name.as_str(), effect.sites.len())).collect();
        assert_eq!(found, [("kind 0", 1), ("kind 2", 2)]);
    }

    #[test]
    fn another_trial_file_is_named() {
        let sites = [site("a", &[0])];
        assert_eq!(check_digest(&sites, "0011"), Ok(()));
        assert!(check_digest(&sites, "0012").unwrap_err().contains("ran trial file 0011"));
    }
}
