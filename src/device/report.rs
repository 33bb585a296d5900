//! The report: one signed row a feature, all of it noisy.
//!
//! The MAC is described in the header of [`crate::wire`]. It is made under a key of its own
//! ([`Role::Report`]), so that a person who checks reports need not be able to close a
//! trial.

use core::fmt::{self, Write};

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::auth::{CustodianKey, Evidence, Role};
use super::generator::Seeded;
use super::health::Entropy;
use super::ready::Ready;
use super::{Answer, send};
use crate::estimate::Estimate;
use crate::journal::JournalFlash;
use crate::plan::Plan;
use crate::terms::Phase;
use crate::wire::{MAC_BYTES, Micro, Refusal, Reply, Row, TrialName};

/// The MAC of a report, row by row.
#[derive(Debug)]
pub struct ReportMac(Hmac<Sha256>);

impl Write for ReportMac {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

impl ReportMac {
    /// Starts with the trial and its plan, under the report key ([`Role::Report`]).
    #[must_use]
    pub fn new(report_key: &CustodianKey, trial: TrialName, plan: &Plan) -> Self {
        let mut mac = Self(report_key.mac());
        // Writing to a MAC cannot fail.
        let _ = write!(mac, "TRIAL {}\nFILE {}\nPLAN {plan}\n", trial.id, trial.file);
        mac
    }

    /// Signs a row.
    pub fn row(&mut self, row: &Row) {
        let _ = writeln!(self, "{row}");
    }

    /// The MAC, after that many rows.
    #[must_use]
    pub fn finish(mut self, rows: u8, assigned: u32, resolved: u32) -> [u8; MAC_BYTES] {
        let _ = writeln!(self, "END {rows} assigned={assigned} resolved={resolved}");
        self.0.finalize().into_bytes().into()
    }
}

/// The row of a feature with this estimate.
fn row(feature: u8, estimate: &Estimate) -> Row {
    let (effect, low, high, outcomes) = estimate.in_millionths();
    let error = Micro(libm::ceil(estimate.deviation * 1e6) as i32);
    Row { feature, estimate: Micro(effect), error, low: Micro(low), high: Micro(high), outcomes }
}

impl<F, E, G, const M: usize, const U: usize> Ready<'_, F, E, G, M, U>
where
    F: JournalFlash,
    E: Entropy,
    G: Seeded,
{
    /// Sends the rows; the answer is the end of the report. Takes a proof unless the plan's results
    /// are free by now; one that is given is checked in any case.
    pub(super) fn report(
        &mut self,
        evidence: &Evidence<'_>,
        out: &mut impl FnMut(&Reply<'_>, &[u8]),
    ) -> Answer {
        let trial = self.state.trial().ok_or(Refusal::Blank)?;
        let closed = trial.phase() == Phase::Closed;
        if evidence.proof.is_some() || trial.plan().results().takes_proof(closed) {
            self.authorize_role(Some(Role::Report), evidence)?;
        }
        let (trial, name) = self.state.trial().zip(self.state.name()).ok_or(Refusal::Blank)?;
        let mut mac =
            ReportMac::new(&self.state.custody().key()?.role(Role::Report), name, trial.plan());
        let mut rows = 0;
        for feature in 0..trial.plan().features() {
            let Some(estimate) = trial.estimate(feature) else { continue };
            let row = row(feature, &estimate);
            mac.row(&row);
            send(&Reply::Row(row), out);
            rows += 1;
        }
        if rows == 0 && !closed {
            return Err(Refusal::Early);
        }
        let assigned = trial.assigned();
        let resolved = trial.resolved();
        let mac = mac.finish(rows, assigned, resolved);
        Ok(Reply::End { rows, assigned, resolved, trial: name.id, mac })
    }
}
