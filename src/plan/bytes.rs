//! Plans as bytes: little-endian fields in the order of the keys.

use super::{Better, Close, DesignName, Parameters, Plan, Results};
use crate::codec::{Reader, Writer};
use crate::ratio::Ratio;

/// Bytes of an encoded plan.
pub const PLAN_BYTES: usize = 40;

impl Plan {
    /// The fixed byte form: little-endian, in the order of the keys.
    #[must_use]
    pub fn encode(&self) -> [u8; PLAN_BYTES] {
        let p = &self.0;
        let mut bytes = [0; PLAN_BYTES];
        let mut out = Writer(&mut bytes);
        out.put(&[p.design as u8, p.features]);
        out.put(&p.patients.to_le_bytes());
        out.put(&p.scale.to_le_bytes());
        out.put(&[p.better as u8]);
        for ratio in [p.alpha, p.epsilon, p.beta] {
            out.put(&ratio.num().to_le_bytes());
            out.put(&ratio.den().to_le_bytes());
        }
        out.put(&[p.reports, p.results as u8, p.close as u8]);
        out.put(&p.kits.to_le_bytes());
        bytes
    }

    /// Reads the byte form; `None` if it is not that of a plan. (Not inlined into the mount, which
    /// takes most of the v1's stack.)
    #[must_use]
    #[inline(never)]
    pub fn decode(bytes: &[u8; PLAN_BYTES]) -> Option<Self> {
        let mut rest = Reader(bytes);
        let [design, features] = rest.take()?;
        let patients = u32::from_le_bytes(rest.take()?);
        let scale = u16::from_le_bytes(rest.take()?);
        let [better] = rest.take()?;
        let mut ratio =
            || Ratio::new(u32::from_le_bytes(rest.take()?), u32::from_le_bytes(rest.take()?));
        let (alpha, epsilon, beta) = (ratio()?, ratio()?, ratio()?);
        let [reports, results, close] = rest.take()?;
        let kits = u32::from_le_bytes(rest.take()?);
        let design = *DesignName::ALL.get(usize::from(design))?;
        let better = *Better::ALL.get(usize::from(better))?;
        let results = *Results::ALL.get(usize::from(results))?;
        let close = *Close::ALL.get(usize::from(close))?;
        Self::new(Parameters {
            design,
            features,
            patients,
            scale,
            better,
            alpha,
            epsilon,
            beta,
            reports,
            results,
            close,
            kits,
        })
        .ok()
    }
}
