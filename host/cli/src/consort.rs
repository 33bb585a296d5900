//! `equipoise list --consort`: the counts of a publication's flow diagram.

use std::path::PathBuf;

use super::error::CliError;
use equipoise::device::auth::Role as KeyRole;
use equipoise_ward::records::consort::Consort;
use equipoise_ward::records::keys::KeyFile;
use equipoise_ward::records::register::Register;
use equipoise_ward::records::site::Site;
use equipoise_ward::records::trial_file::TrialFile;

/// Counts instead of patients.
#[derive(Debug, clap::Args)]
pub struct ConsortArgs {
    /// Print the counts of a CONSORT flow diagram instead of the patients
    #[arg(long)]
    consort: bool,
    /// Draw the flow diagram as SVG
    #[arg(long, requires = "consort", conflicts_with = "csv")]
    svg: bool,
    /// The custodian's key, which names the arms of a blinded trial
    #[arg(long, value_name = "FILE", requires = "consort")]
    key_file: Option<PathBuf>,
    /// Report of `equipoise report --format json`, for the number of outcomes analysed
    #[arg(long, value_name = "FILE", requires = "consort")]
    report: Option<PathBuf>,
}

impl ConsortArgs {
    /// The key that names the arms, if one was given.
    ///
    /// # Errors
    /// The file cannot be used, or holds a key of another role.
    pub fn key(&self) -> Result<Option<KeyFile>, CliError> {
        let path = self.key_file.as_deref();
        Ok(path.map(|path| KeyFile::read_for(path, KeyRole::CodeBreak)).transpose()?)
    }

    /// The counts in the form that was asked for; none if they were not.
    ///
    /// # Errors
    /// The key or the report cannot be used, or is of another trial.
    pub fn text(
        &self,
        register: &Register,
        trial: &TrialFile,
        csv: bool,
    ) -> Result<Option<String>, CliError> {
        if !self.consort {
            return Ok(None);
        }
        let key = self.key()?;
        let site = self.report.as_ref().map(|path| {
            let text = std::fs::read_to_string(path).map_err(|e| CliError::file(path, &e))?;
            Site::parse(&path.display().to_string(), &text).map_err(CliError::usage)
        });
        let consort = Consort::new(register, trial, key.as_ref(), site.transpose()?.as_ref())?;
        Ok(Some(match (csv, self.svg) {
            (true, _) => consort.csv(),
            (_, true) => consort.svg(),
            _ => consort.text(),
        }))
    }
}
