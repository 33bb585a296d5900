//! Why a journal refuses.

use core::fmt;

use embedded_storage::nor_flash::NorFlashErrorKind;

use super::{MAX_KEYS, MIN_PAGES};

/// A value on flash passed its checksum but is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPart;

/// Why a commit did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Error {
    /// The flash refused.
    Flash(NorFlashErrorKind),
    /// No page is left: the parts outgrew the region, or too many pages failed.
    Full,
    /// The transaction exceeds half a page; call [`super::Journal::make_room`] first. Nothing was
    /// written.
    Room,
    /// An earlier commit failed; the journal must be mounted again.
    Broken,
}

impl From<NorFlashErrorKind> for Error {
    fn from(kind: NorFlashErrorKind) -> Self {
        Self::Flash(kind)
    }
}

/// Why a region cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum MountError {
    /// The flash refused.
    Flash(NorFlashErrorKind),
    /// The region has `found` pages; [`MIN_PAGES`] to `most` of this size are allowed.
    Pages {
        /// Pages of the region.
        found: u32,
        /// Most pages of their size.
        most: u32,
    },
    /// The state has this many parts; 1 to [`MAX_KEYS`] are allowed.
    Keys(u16),
    /// Neither blank nor written by a journal of these parts.
    Foreign,
    /// Written by a journal of this other format; nothing was changed.
    OtherFormat(u8),
    /// Something that was committed is missing or changed.
    Damaged,
    /// The part under this key passed its checksum but is not valid.
    Part(u16),
    /// Repair after a power cut failed.
    Repair(Error),
}

impl From<NorFlashErrorKind> for MountError {
    fn from(kind: NorFlashErrorKind) -> Self {
        Self::Flash(kind)
    }
}

/// A region that cannot carry the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSmall {
    /// Usable pages of the region.
    pub pages: u32,
    /// Pages that would do.
    pub needed: u32,
}

impl fmt::Display for BadPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value on flash passed its checksum but is not valid")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flash(kind) => write!(f, "the flash refused: {kind}"),
            Self::Full => f.write_str("no page is left"),
            Self::Room => f.write_str("the transaction exceeds half a page"),
            Self::Broken => f.write_str("an earlier commit failed: mount the journal again"),
        }
    }
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flash(kind) => write!(f, "the flash refused: {kind}"),
            Self::Pages { found, most } => {
                write!(f, "{found} pages of flash: {MIN_PAGES} to {most} are allowed")
            }
            Self::Keys(count) => write!(f, "{count} parts: 1 to {MAX_KEYS} are allowed"),
            Self::Foreign => f.write_str("neither blank nor written by a journal of these parts"),
            Self::OtherFormat(format) => write!(f, "written in format {format}"),
            Self::Damaged => f.write_str("something that was committed is missing or changed"),
            Self::Part(key) => write!(f, "part {key} passed its checksum but is not valid"),
            Self::Repair(error) => write!(f, "repair after a power cut failed: {error}"),
        }
    }
}

impl fmt::Display for TooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} usable pages, {} needed", self.pages, self.needed)
    }
}

impl core::error::Error for BadPart {}
impl core::error::Error for Error {}
impl core::error::Error for MountError {}
impl core::error::Error for TooSmall {}
