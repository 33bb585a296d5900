//! The state is read back as it was written, and another version of it is refused.

use super::*;
use crate::chance::Sampler;
use crate::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;

const NAME: TrialName = TrialName { id: TrialId([7; 8]), file: FileDigest([9; 8]) };

/// What a device holds that has read these values from flash.
fn read_back(state: &DeviceState<3, 8>) -> DeviceState<3, 8> {
    let mut read = DeviceState::BLANK;
    let mut passes = 0;
    while read.another_pass(passes) {
        for key in 0..state.count() {
            let mut value = vec![0; state.length(key)];
            if !value.is_empty() {
                state.encode(key, &mut value);
            }
            read.decode(key, &value).unwrap();
        }
        passes += 1;
    }
    assert!(read.finish());
    read
}

#[test]
fn state_read_back_is_the_state_written() {
    for design in ["interim", "dp-conse"] {
        let plan = format!("design={design} features=3 patients=60 epsilon=8");
        let mut state = Box::new(DeviceState::<3, 8>::BLANK);
        state.begin(NAME, Plan::parse(&plan).unwrap()).unwrap();
        state.mark_clean();
        let mut chance = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(5);
        for patient in 1..=60 {
            let trial = state.trial_mut().unwrap();
            trial.assign((patient % 3) as u8, Some(patient), &mut chance).unwrap();
            // Five wait, every fourth is lost.
            if let Some(late) = patient.checked_sub(5).filter(|late| *late > 0) {
                let lost = late.is_multiple_of(4).then(|| trial.lost(late, &mut chance));
                lost.unwrap_or_else(|| trial.outcome(late, 1, &mut chance)).unwrap();
            }
            state.mark_clean();
            // An interpreter has time for some of the states only.
            if cfg!(miri) && !patient.is_multiple_of(20) {
                continue;
            }
            assert_eq!(
                format!("{state:?}"),
                format!("{:?}", Box::new(read_back(&state))),
                "{design} {patient}"
            );
        }
    }
}

/// Parts as another firmware would have written them.
struct OtherVersion<'a>(&'a DeviceState<3, 8>, u8);

impl Parts for OtherVersion<'_> {
    fn count(&self) -> u16 {
        self.0.count()
    }
    fn length(&self, key: u16) -> usize {
        self.0.length(key)
    }
    fn encode(&self, key: u16, out: &mut [u8]) {
        self.0.encode(key, out);
        if key == PLAN {
            out[0] = self.1;
        }
    }
    fn decode(&mut self, _: u16, _: &[u8]) -> Result<(), BadPart> {
        Ok(())
    }
    fn secret(&self, key: u16) -> Option<&Place> {
        self.0.secret(key)
    }
}

/// A flash whose plan has another version is refused before anything on it is repaired.
#[test]
fn another_state_version_stops_the_mount() {
    use crate::journal::{Journal, MountError};
    use crate::testkit::strict_flash::{StrictFlash, Tear};
    for (version, cut) in [(STATE_VERSION, 0), (STATE_VERSION - 1, 0), (STATE_VERSION + 1, 3)] {
        let mut state = Box::new(DeviceState::<3, 8>::BLANK);
        let flash = StrictFlash::<1024>::new(16, 0xFF);
        state.begin(NAME, Plan::parse("features=3 patients=60 epsilon=8").unwrap()).unwrap();
        let mut other = OtherVersion(&state, version);
        let mut journal = Journal::mount(flash, &mut other).map_err(|(error, _)| error).unwrap();
        if cut > 0 {
            // An unfinished commit, which a mount would repair.
            journal.flash().cut_after(cut, Tear::Alternating);
            assert!(journal.commit(&other, || [PROGRESS].into_iter()).is_err());
        }
        let mut flash = journal.release();
        flash.power_up();
        let (bytes, operations) = (flash.bytes(), flash.operations());
        let mut read = Box::new(DeviceState::<3, 8>::BLANK);
        match Journal::mount(flash, &mut *read) {
            Ok(_) => assert_eq!((version, read.foreign()), (STATE_VERSION, None)),
            Err((error, flash)) => {
                assert!(matches!(error, MountError::Part(_)), "{error:?}");
                assert_eq!(read.foreign(), Some(version));
                assert_ne!(version, STATE_VERSION);
                assert!(flash.bytes() == bytes && flash.operations() == operations);
            }
        }
    }
}
