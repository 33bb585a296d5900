//! The fields of `HELLO` and `STATUS`: one row a field, for the writer, the reader and
//! `docs/wire.md`.
//!
//! # Rows
//! A row is a field of the struct and its type, then each of its words: the key on the line, the
//! values it may have, and its meaning. The last two are what the document prints; a test compares
//! its tables with [`Hello::FIELDS`] and [`Status::FIELDS`].
//!
//! # Order
//! Words are written and read in the order of the rows. `None` has no words, and the two words of a
//! pair come together or not at all.
//!
//! # Adding a field
//! Within a protocol version a new row is the last one, and its type is an `Option`. Then a
//! terminal of today skips the word, which it does not know ([`super::Reply::parse`]), and a
//! terminal of tomorrow reads `None` from a device of today.

use core::fmt::{self, Write};

use super::facts::{
    FileDigest, FlashTrouble, ImageHash, Micro, NextLook, Restart, State, Stored, TrialId,
    TrialName,
};
use super::request::Words;
use super::unhex;
use crate::plan::{Better, DesignName, Results};
use crate::terms::Phase;

/// One word of a reply, as `docs/wire.md` describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The text before the `=`.
    pub key: &'static str,
    /// The values it may have.
    pub value: &'static str,
    /// The fact it states.
    pub meaning: &'static str,
}

/// A struct of facts with its table of words. Fields before the `;` have places instead of keys.
macro_rules! fields {
    (
        $(#[$about:meta])*
        $name:ident $(<$life:lifetime>)? {
            $($(#[$place:meta])* $head:ident: $head_type:ty,)* ;
            $($field:ident: $type:ty {
                $($key:literal: $value:literal, $meaning:literal;)+
            })*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name $(<$life>)? {
            $($(#[$place])* pub $head: $head_type,)*
            $($(#[doc = concat!("`", $key, "`: ", $meaning, ".\n\n")])+ pub $field: $type,)*
        }

        impl $(<$life>)? $name $(<$life>)? {
            /// Its words, in the order of the line.
            pub const FIELDS: &'static [Field] =
                &[$($(Field { key: $key, value: $value, meaning: $meaning },)+)*];

            /// Writes the words, each with a blank before it.
            // Out of line: 56 bytes less on the micro:bit v1.
            #[inline(never)]
            pub(super) fn write(&self, f: &mut dyn Write) -> fmt::Result {
                $(Fact::write(&self.$field, [$($key),+], f)?;)*
                Ok(())
            }

            /// Reads the words that [`Self::write`] writes.
            pub(super) fn read($($head: $head_type,)* words: &mut Words<'_>) -> Option<Self> {
                Some(Self { $($head,)* $($field: Fact::read([$($key),+], words)?,)* })
            }
        }
    };
}

fields! {
    /// Who answers: the device and what it holds.
    Hello<'a> {
        /// Version of the program.
        version: &'a str,
        /// Activity of the device.
        state: State,
        ;
        stored: Option<Stored> {
            "stored": "`state-<number>` or `journal-<number>`",
                "with `foreign`, the version of what lies on flash";
        }
        custody: Option<(bool, Micro)> {
            "key": "`set` or `none`", "whether the device has a custodian's key";
            "left": "decimal", "lifetime budget of epsilon that is left";
        }
        trial: Option<TrialName> {
            "trial": "16 hex digits", "id of the trial, drawn at random when it began";
            "file": "16 hex digits",
                "digest of its trial file, as sent with `PLAN`; zeros if none was sent";
        }
        restart: Option<Restart> {
            "restart": "`power`, `reset`, `watchdog` or `fault`",
                "why the device last started, where the board knows";
        }
        image: Option<ImageHash> {
            "image": "16 hex digits",
                "on a board, the first 8 bytes of the SHA-256 of its firmware as it lies on flash";
        }
        flash: Option<FlashTrouble> {
            "flash": "`refused`, `size`, `unknown`, `damaged` or `repair`",
                "with `fault`, why the flash could not be mounted: it refused to be read or written, has \
                 a wrong number of pages, is neither blank nor of this device, lacks what was stored, or \
                 could not be repaired after a power cut";
        }
    }
}

fields! {
    /// The public facts of a trial.
    Status {
        ;
        name: TrialName {
            "trial": "16 hex digits", "id of the trial, as in `HELLO`";
            "file": "16 hex digits", "digest of its trial file, as in `HELLO`";
        }
        design: DesignName {
            "design": "`interim`, `uniform` or `dp-conse`", "algorithm of the trial";
        }
        patients: u32 { "n": "number", "planned patients"; }
        better: Better { "better": "`high` or `low`", "which outcomes are the better ones"; }
        results: Results {
            "results": "`custodian`, `close` or `open`",
                "who may ask for the report: with a proof, everybody once closed, everybody";
        }
        assigned: u32 { "assigned": "number", "patients assigned so far"; }
        resolved: u32 {
            "resolved": "number", "patients whose outcome was recorded or declared lost";
        }
        capacity: u32 { "capacity": "number", "most patients that may wait at once"; }
        phase: Phase { "phase": "`explore`, `measure` or `closed`", "where the trial stands"; }
        looks: u32 { "looks": "number", "public looks so far"; }
        next_look: NextLook {
            "next-look": "number, `close` or `none`",
                "count of *resolved* patients at which the next look falls, or at `CLOSE`; `none` \
                 where looks are no public event (`dp-conse`, a closed trial)";
        }
        kits: Option<(u32, u32)> {
            "kits": "number", "in a blinded trial, the kits an arm";
            "replaced": "number", "in a blinded trial, the replacements given so far";
        }
    }
}

impl Status {
    /// Patients assigned and not resolved.
    #[must_use]
    pub const fn waiting(&self) -> u32 {
        self.assigned.saturating_sub(self.resolved)
    }
}

/// A type that is written as `N` words, each with its key.
trait Fact<const N: usize>: Sized {
    fn write(&self, keys: [&str; N], f: &mut dyn Write) -> fmt::Result;
    fn read(keys: [&str; N], words: &mut Words<'_>) -> Option<Self>;
}

/// A type whose values are written without blanks.
trait Value: Sized {
    fn shown(&self) -> impl fmt::Display;
    fn read(text: &[u8]) -> Option<Self>;
}

/// Writes one word. (One function for all types saves 964 bytes of the micro:bit v1.)
#[inline(never)]
fn write_word(key: &str, value: &dyn fmt::Display, f: &mut dyn Write) -> fmt::Result {
    write!(f, " {key}={value}")
}

impl<T: Value> Fact<1> for T {
    fn write(&self, [key]: [&str; 1], f: &mut dyn Write) -> fmt::Result {
        write_word(key, &self.shown(), f)
    }

    fn read([key]: [&str; 1], words: &mut Words<'_>) -> Option<Self> {
        Value::read(words.value(key)?)
    }
}

impl<A: Value, B: Value> Fact<2> for (A, B) {
    fn write(&self, [first, second]: [&str; 2], f: &mut dyn Write) -> fmt::Result {
        Fact::write(&self.0, [first], f)?;
        Fact::write(&self.1, [second], f)
    }

    fn read([first, second]: [&str; 2], words: &mut Words<'_>) -> Option<Self> {
        Some((Fact::read([first], words)?, Fact::read([second], words)?))
    }
}

impl Fact<2> for TrialName {
    fn write(&self, keys: [&str; 2], f: &mut dyn Write) -> fmt::Result {
        (self.id, self.file).write(keys, f)
    }

    fn read(keys: [&str; 2], words: &mut Words<'_>) -> Option<Self> {
        let (id, file) = Fact::read(keys, words)?;
        Some(Self { id, file })
    }
}

impl<T: Fact<N>, const N: usize> Fact<N> for Option<T> {
    fn write(&self, keys: [&str; N], f: &mut dyn Write) -> fmt::Result {
        self.as_ref().map_or(Ok(()), |fact| fact.write(keys, f))
    }

    /// Absent, or present and valid.
    fn read(keys: [&str; N], words: &mut Words<'_>) -> Option<Self> {
        let mut ahead = *words;
        let present = keys.first().is_some_and(|key| ahead.value(key).is_some());
        if present { T::read(keys, words).map(Some) } else { Some(None) }
    }
}

/// The values of a type: how one is shown and how it is read.
macro_rules! values {
    ($($type:ty: $shown:expr, $read:expr;)*) => {$(
        impl Value for $type {
            fn shown(&self) -> impl fmt::Display {
                $shown(*self)
            }

            fn read(text: &[u8]) -> Option<Self> {
                $read(text)
            }
        }
    )*};
}
values! {
    u32: itself, |text| Words::new(text).number().ok();
    Micro: itself, Self::parse;
    NextLook: itself, Self::parse;
    Stored: itself, Self::parse;
    TrialId: itself, |text| unhex(text).map(Self);
    FileDigest: itself, |text| unhex(text).map(Self);
    ImageHash: itself, |text| unhex(text).map(Self);
    DesignName: Self::name, |text| Self::ALL.into_iter().find(|one| one.name().as_bytes() == text);
    Better: Self::name, |text| Self::ALL.into_iter().find(|one| one.name().as_bytes() == text);
    Results: Self::name, |text| Self::ALL.into_iter().find(|one| one.name().as_bytes() == text);
    Phase: Self::name, |text| PHASES.into_iter().find(|one| one.name().as_bytes() == text);
    Restart: Self::name, Self::named;
    FlashTrouble: Self::name, Self::named;
    // A key that is set or not.
    bool: |set| if set { "set" } else { "none" }, |text: &[u8]| match text {
        b"set" => Some(true),
        b"none" => Some(false),
        _ => None,
    };
}

const PHASES: [Phase; 3] = [Phase::Explore, Phase::Measure, Phase::Closed];

/// A value that `Display` writes.
const fn itself<T>(value: T) -> T {
    value
}
