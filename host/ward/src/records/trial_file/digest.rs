//! The digest of a trial file.
//!
//! It ties a trial file to a device: the device stores it at `PLAN`, and a terminal whose
//! trial file has another digest refuses to work with that device. It is the first 8 bytes of
//! SHA-256 over the canonical form, which holds everything that gives the device's numbers their
//! meaning, and nothing else (comments, order of keys, the rules for patient codes and the rest of
//! the plan do not change it, so a trial that runs can get another rule):
//!
//! ```text
//! equipoise trial 2\n
//! title <bytes>:<text>\n
//! arm <bytes>:<text>\n            twice: arm 0, arm 1
//! feature <bytes>:<text>\n        once a feature, in the device's order
//! question <bytes>:<text>\n
//! scale <number>\n
//! label <bytes>:<text>\n          once a label, in order from 0; none without labels
//! better high|low\n
//! boundary <kind>[ <effect>]\n   only with a boundary; the effect in millionths
//! kits <number>\n                 this and the following in a blinded trial only
//! kit-prefix <bytes>:<text>\n
//! kit-digits <number>\n
//! kit-check none|luhn|damm\n
//! kit-site <bytes>:<text>\n
//! kit-use <number>\n
//! eligibility yes|no criterion|consent <bytes>:<text>\n   once a question, in order
//! sign enrol|outcome|unblind\n                            once an act, in the file's order
//! ```
//!
//! `<bytes>` is the decimal length of the text in UTF-8, so that no text can imitate another line.

use sha2::{Digest, Sha256};

use super::{TrialFile, VERSION};
use crate::records::kit_label::KitLabel;

/// Bytes of [`TrialFile::digest`].
pub const DIGEST_BYTES: usize = 8;

impl TrialFile {
    /// The text that [`Self::digest`] is taken of; see the module's header.
    #[must_use]
    pub fn canonical(&self) -> String {
        let line = |key: &str, text: &str| format!("{key} {}:{text}\n", text.len());
        let lines = |key: &str, texts: &[String]| {
            texts.iter().map(|text| line(key, text)).collect::<String>()
        };
        let labels = self.labels.as_deref().unwrap_or_default();
        [
            format!("equipoise trial {VERSION}\n"),
            line("title", &self.title),
            lines("arm", &self.arms),
            lines("feature", &self.features),
            line("question", &self.question),
            format!("scale {}\n", self.plan.scale()),
            lines("label", labels),
            format!("better {}\n", self.plan.better().name()),
            self.boundary.map_or(String::new(), |boundary| boundary.canonical()),
            self.kits.as_ref().map_or(String::new(), KitLabel::canonical),
            self.eligibility.canonical(),
            self.signing.canonical(),
        ]
        .concat()
    }

    /// Differences from the provisioned file that change what a number means.
    #[must_use]
    pub fn differences(&self, provisioned: &Self) -> Vec<String> {
        let list = |names: &[String]| format!("\"{}\"", names.join("\", \""));
        let labels = |file: &Self| {
            file.labels.as_ref().map_or_else(|| "none".to_owned(), |labels| list(labels))
        };
        let boundary = |file: &Self| {
            let line = file.boundary.map(|boundary| boundary.canonical());
            line.map_or_else(|| "none".to_owned(), |line| line.trim_end().to_owned())
        };
        let both = |file: &Self| {
            [
                ("title", file.title.clone()),
                ("arms", list(&file.arms)),
                ("features", list(&file.features)),
                ("question", file.question.clone()),
                ("scale", file.plan.scale().to_string()),
                ("labels", labels(file)),
                ("better", file.plan.better().name().to_owned()),
                ("boundary", boundary(file)),
                (
                    "kits",
                    file.kits.as_ref().map_or("none".to_owned(), |kits| {
                        kits.canonical().trim_end().replace('\n', ", ")
                    }),
                ),
            ]
        };
        let lines = |text: String| text.trim_end().replace('\n', ", ");
        let asked = |file: &Self| {
            [
                ("eligibility", lines(file.eligibility.canonical())),
                ("sign", lines(file.signing.canonical())),
            ]
        };
        let both = |file: &Self| both(file).into_iter().chain(asked(file));
        let pairs = both(provisioned).zip(both(self)).filter(|(theirs, ours)| theirs != ours);
        pairs
            .map(|((key, theirs), (_, ours))| {
                format!("{key}: {theirs} on the device, {ours} in the file")
            })
            .collect()
    }

    /// Digest that the device stores: the first bytes of SHA-256 of [`Self::canonical`].
    #[must_use]
    pub fn digest(&self) -> [u8; DIGEST_BYTES] {
        let hash: [u8; 32] = Sha256::digest(self.canonical()).into();
        hash.first_chunk().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::trial_file::EXAMPLE;

    /// Every change of meaning changes the digest; comments and the rest of the plan do not.
    #[test]
    fn digest_follows_the_meaning() {
        let digest = |from: &str, to: &str| {
            assert!(EXAMPLE.contains(from), "{from}");
            TrialFile::parse("t", &EXAMPLE.replacen(from, to, 1)).unwrap().digest()
        };
        let example = TrialFile::example().unwrap();
        assert_eq!(
            example.canonical(),
            "equipoise trial 2\ntitle 31:Early walking after hip surgery\narm 10:Usual care\n\
             arm 13:Early walking\nfeature 14:under 65, home\nfeature 19:under 65, care home\n\
             feature 16:65 or over, home\nfeature 21:65 or over, care home\n\
             question 24:Walks unaided on day 14?\nscale 1\nlabel 2:no\nlabel 3:yes\nbetter high\n"
        );
        // As `sha256sum` of these lines begins.
        assert_eq!(equipoise::wire::Hex(&example.digest()).to_string(), "e46ce2f75dc48f39");
        for (from, to) in [
            ("Early walking after", "Early walking before"),
            ("\"Usual care\", \"Early walking\"", "\"Early walking\", \"Usual care\""),
            (
                "\"under 65, home\", \"under 65, care home\"",
                "\"under 65, care home\", \"under 65, home\"",
            ),
            ("Walks unaided", "Falls"),
            ("better = \"high\"", "better = \"no\""),
            ("\"no\", \"yes\"", "\"yes\", \"no\""),
        ] {
            assert_ne!(digest(from, to), example.digest(), "{to}");
        }
        let blind = |kits: &str| {
            let text = format!("blinded = true\n{EXAMPLE}\n[kits]\n{kits}");
            let text = if kits.contains("use") { text } else { text + "\nsite = \"A\"\nuse = 1" };
            TrialFile::parse("t", &text.replacen("scale = 1 ", "kits = 4400\nscale = 1 ", 1))
                .unwrap()
        };
        let blinded = blind("prefix = \"K-\"\ncheck = \"damm\"");
        let tail =
            "kits 4400\nkit-prefix 2:K-\nkit-digits 4\nkit-check damm\nkit-site 1:A\nkit-use 1\n";
        assert_eq!(blinded.canonical(), example.canonical() + tail);
        for kits in [
            "prefix = \"K\"\ncheck = \"damm\"",
            "prefix = \"K-\"",
            "digits = 5",
            "prefix = \"K-\"\ncheck = \"damm\"\nsite = \"A\"\nuse = 2",
            "prefix = \"K-\"\ncheck = \"damm\"\nsite = \"B\"\nuse = 1",
        ] {
            assert_ne!(blind(kits).digest(), blinded.digest(), "{kits}");
        }
        for (from, to) in [
            ("# Kinds of patient", "# Kinds"),
            ("epsilon = 1 ", "epsilon = 2 "),
            ("title = ", "code-unicode = true\ntitle = "),
            ("title = ", "code-unicode = false\ntitle = "),
        ] {
            assert_eq!(digest(from, to), example.digest(), "{to}");
        }
    }
}
