//! Any text as a trial file: accepted, or refused with an error that names the file.
#![no_main]

use equipoise_ward::records::trial_file::TrialFile;
use equipoise::plan::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match TrialFile::parse("trial.toml", text) {
        Ok(trial) => {
            assert_eq!(trial.features.len(), usize::from(trial.plan.features()));
            assert_eq!(Plan::parse(&trial.plan.to_string()), Ok(trial.plan));
            let _ = trial.digest();
        }
        Err(error) => assert!(error.to_string().starts_with("trial.toml: ")),
    }
});
