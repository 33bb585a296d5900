//! Whether the board is the one that was provisioned, on a machine that has the presence key.
//!
//! The board is asked for a proof whenever it is connected, before anything is asked for a patient.
//! Flashing a locked board erases its key, so a right answer shows that this is the board to which
//! the custodian gave the key, as far as the lock holds.

use super::{Bedside, failure};
use crate::failure::Failure;
use crate::line::custodian;
use crate::records::key_check;
use crate::records::keys::KeyFile;
use crate::records::log;

/// The presence key, and whether the connected board has answered for it.
pub(super) struct Presence {
    key: KeyFile,
    proven: bool,
}

impl Bedside {
    /// The same bedside with the presence key, where there is one.
    #[must_use]
    pub fn with_presence(mut self, key: Option<KeyFile>) -> Self {
        self.presence = key.map(|key| Presence { key, proven: false });
        self
    }

    /// Asks the connected board for its proof, unless it has given it.
    ///
    /// # Errors
    /// No device, or one that does not hold the key.
    pub(super) fn present(&mut self) -> Result<(), Failure> {
        let Some(presence) = self.presence.as_mut().filter(|presence| !presence.proven) else {
            return Ok(());
        };
        if let Some(name) = self.client.hello().map_err(failure)?.trial {
            let begun = self.register.opened().is_some();
            let entries = if begun { log::verify(self.log.path(), None)?.1 } else { Vec::new() };
            // Such a key is as unfit as a board without it.
            key_check::same_key(&presence.key, name.id, &entries)
                .map_err(|error| Failure::Usage(error.to_string()))?;
        }
        if !custodian::prove(&mut self.client, &presence.key)? {
            return Err(Failure::Usage(
                "the device does not hold the key that this presence key was made of: it is not the board that was \
                 provisioned, or the key is another trial's; nothing was asked for a patient"
                    .to_owned(),
            ));
        }
        presence.proven = true;
        Ok(())
    }

    /// The board went away: the next one is asked again.
    pub(super) const fn forget_presence(&mut self) {
        if let Some(presence) = &mut self.presence {
            presence.proven = false;
        }
    }
}
