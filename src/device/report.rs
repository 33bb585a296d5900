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
use crate::design::schedule;
use crate::estimate::Basis;
use crate::journal::JournalFlash;
use crate::plan::Plan;
use crate::terms::Phase;
use crate::trial::Trial;
use crate::wire::{
    Claim, Ending, LastLook, MAC_BYTES, Micro, Refusal, Reply, Row, RowArm, RowBasis, Stage,
    TrialName,
};

/// The MAC of a report, row by row. (Nothing here is inlined: the v1's stack has room for one of
/// these steps at a time.)
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
    #[inline(never)]
    pub fn new(report_key: &CustodianKey, trial: TrialName, plan: &Plan) -> Self {
        let mut mac = Self(report_key.mac());
        // Writing to a MAC cannot fail.
        let _ = write!(mac, "TRIAL {}\nFILE {}\nPLAN {plan}\n", trial.id, trial.file);
        mac
    }

    /// Signs a row.
    #[inline(never)]
    pub fn row(&mut self, row: &Row) {
        let _ = writeln!(self, "{row}");
    }

    /// The MAC of a report with this end.
    #[must_use]
    #[inline(never)]
    pub fn finish(mut self, end: &Ending) -> [u8; MAC_BYTES] {
        let _ = writeln!(self, "{end}");
        self.0.finalize().into_bytes().into()
    }
}

/// The row of a feature, if it has an estimate.
#[inline(never)]
fn row<const M: usize, const U: usize>(trial: &Trial<M, U>, feature: u8) -> Option<Row> {
    let estimate = trial.estimate(feature)?;
    let (effect, low, high, outcomes) = estimate.in_millionths();
    let error = Micro(libm::ceil(estimate.deviation * 1e6) as i32);
    let [low, high] = [low, high].map(Micro);
    let basis = estimate.basis.as_ref().map(basis);
    Some(Row { feature, estimate: Micro(effect), error, low, high, outcomes, basis })
}

fn basis(basis: &Basis) -> RowBasis {
    let micro = |value: f64| Micro(libm::round(value * 1e6) as i32);
    RowBasis {
        spent: micro(basis.spent),
        half: micro(basis.half_spent),
        looks: basis.looks,
        windows: basis.windows,
        arms: basis.arms.map(|arm| RowArm {
            outcomes: libm::round(arm.outcomes) as u32,
            mean: micro(arm.mean),
        }),
    }
}

/// The end of a report of a trial with that many rows.
#[inline(never)]
fn ending<const M: usize, const U: usize>(trial: &Trial<M, U>, rows: u8, counted: u32) -> Ending {
    let closed = trial.phase() == Phase::Closed;
    let planned = || schedule::looks(trial.plan());
    let look = Claim::of(trial.plan().design()) == Claim::Pure;
    let look = look.then(|| LastLook {
        number: trial.looks(),
        of: planned().count() as u8 + 1,
        at: planned().take(trial.looks().into()).last().filter(|_| !closed),
    });
    Ending {
        rows,
        stage: if closed { Stage::Final } else { Stage::Interim },
        look,
        assigned: trial.assigned(),
        resolved: trial.resolved(),
        counted,
    }
}

impl<F, E, G, const M: usize, const U: usize> Ready<'_, F, E, G, M, U>
where
    F: JournalFlash,
    E: Entropy,
    G: Seeded,
{
    /// Whether the sender may have the report. Takes a proof unless the plan's results are free by
    /// now; one that is given is checked in any case. (Apart from the report: the stack of the v1
    /// has no room for the MACs of both.)
    #[inline(never)]
    pub(super) fn may_report(&mut self, evidence: &Evidence<'_>) -> Result<(), Refusal<'static>> {
        let trial = self.state.trial().ok_or(Refusal::Blank)?;
        let closed = trial.phase() == Phase::Closed;
        if evidence.proof.is_some() || trial.plan().results().takes_proof(closed) {
            self.authorize_role(Some(Role::Report), evidence)?;
        }
        Ok(())
    }

    /// Sends the rows; the answer is the end of the report.
    pub(super) fn report(&self, out: &mut impl FnMut(&Reply<'_>, &[u8])) -> Answer {
        // Before the report, whose MAC takes the stack that this one needs.
        let key = self.state.custody().key()?.role(Role::Report);
        self.signed_report(&key, out)
    }

    #[inline(never)]
    fn signed_report(&self, key: &CustodianKey, out: &mut impl FnMut(&Reply<'_>, &[u8])) -> Answer {
        let (trial, name) = self.state.trial().zip(self.state.name()).ok_or(Refusal::Blank)?;
        let mut mac = ReportMac::new(key, name, trial.plan());
        let (mut rows, mut counted) = (0, 0u32);
        for feature in 0..trial.plan().features() {
            let Some(row) = row(trial, feature) else { continue };
            mac.row(&row);
            send(&Reply::Row(row), out);
            rows += 1;
            counted = counted.saturating_add(row.outcomes);
        }
        if rows == 0 && trial.phase() != Phase::Closed {
            return Err(Refusal::Early);
        }
        let end = ending(trial, rows, counted);
        let mac = mac.finish(&end);
        Ok(Reply::End { end, trial: name.id, mac })
    }
}
