//! The head file of a log, written without opening anything.
//!
//! # Guarantees
//! * **Whole.** Under `FILE.head` lies a whole head at every moment, also after a power cut. A new
//!   one is written to the spare file `FILE.head.new` and synced; then the two exchange their names
//!   in one step. A head written in place could be left torn, and its log would be refused.
//! * **Reused only when safe.** The file that was the head is the next spare. It is written to only
//!   after the exchange is durable: before, a power cut could give it its old name back. It must
//!   also still be the file under its name, with no other name, and owner-only; otherwise it is
//!   removed and a new one is made. So nothing is written through a link planted there.
//! * **No descriptor.** Head, spare and folder stay open, so a head can be written while all
//!   descriptors of the program are in use.
//! * **Failure.** If [`HeadFile::write`] fails, the head is the one before.
//!
//! Where names cannot be exchanged (Windows, some network file systems, a log without a head yet)
//! the spare is renamed to the head, which is as whole. The spare after it takes a free descriptor.

use crate::{os, own_file};

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::chain::{Head, LogError, head_path, parse_head};

/// The head file of a log that is open and locked.
#[derive(Debug)]
pub struct HeadFile {
    path: PathBuf,
    beside: PathBuf,
    folder: os::Folder,
    /// The file under `path`.
    head: Option<File>,
    /// The file under `beside`.
    spare: Option<File>,
    /// Names were exchanged since the folder was synced.
    exchanged: bool,
}

impl HeadFile {
    /// Opens the head of this log in this folder; `None` stands for a head that is not there.
    ///
    /// # Errors
    /// It cannot be read, or others may have written it.
    pub fn open(log: &Path, folder: &Path) -> Result<(Self, Option<Head>), LogError> {
        let path = head_path(log);
        let unusable = |error: io::Error| LogError::NoHead(path.clone(), error.to_string());
        let (mut head, mut known) = (None, None);
        match own_file::open(&path, OpenOptions::new().read(true).write(true)) {
            Ok(mut file) => {
                let mut text = Vec::new();
                file.read_to_end(&mut text).map_err(unusable)?;
                (head, known) = (Some(file), Some(parse_head(&path, &text)?));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unusable(error)),
        }
        let folder = os::open_folder(folder).map_err(unusable)?;
        let beside = path.with_extension("head.new");
        // If it cannot be made now, the first line tries again and says why not.
        let spare = create(&beside).ok();
        Ok((Self { path, beside, folder, head, spare, exchanged: false }, known))
    }

    /// Replaces the head.
    ///
    /// # Errors
    /// The disk refused; the head is the one before.
    pub fn write(&mut self, head: &Head) -> io::Result<()> {
        if self.exchanged {
            os::sync_open_folder(&self.folder)?;
            self.exchanged = false;
        }
        let text = format!("{}\n", serde_json::to_string(head)?);
        let ours = self.spare.take().filter(|spare| is_ours(spare, &self.beside));
        let spare = self.spare.insert(ours.map_or_else(|| create(&self.beside), Ok)?);
        os::write_all_at(spare, text.as_bytes(), 0)?;
        spare.set_len(text.len() as u64)?;
        spare.sync_data()?;
        match os::exchange(&self.beside, &self.path) {
            Ok(()) => {
                std::mem::swap(&mut self.head, &mut self.spare);
                self.exchanged = true;
            }
            Err(error) => {
                // Windows, which exchanges nothing, renames closed files only.
                let closes = error.kind() == io::ErrorKind::Unsupported;
                self.head = self.spare.take().filter(|_| !closes);
                std::fs::rename(&self.beside, &self.path)?;
                self.spare = create(&self.beside).ok();
            }
        }
        Ok(())
    }
}

impl Drop for HeadFile {
    fn drop(&mut self) {
        let ours = self.spare.take().is_some_and(|spare| is_ours(&spare, &self.beside));
        if ours {
            let _ = std::fs::remove_file(&self.beside);
        }
    }
}

/// Whether a spare may be written to.
fn is_ours(spare: &File, path: &Path) -> bool {
    own_file::still_named(spare, path).and_then(|found| os::private(&found)).is_ok()
}

/// Makes a new file for its owner alone. One that a crash left behind is removed; what lies there
/// is never written to, for it may be a link.
fn create(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    os::owner_only(OpenOptions::new().read(true).write(true).create_new(true)).open(path)
}
