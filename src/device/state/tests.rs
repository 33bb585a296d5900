//! The state is read back as it was written, and another version of it is refused.

use super::*;
use crate::chance::Sampler;
use crate::device::Device;
use crate::device::health::Repeatable;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::prelude::rust_2024::*;

const NAME: TrialName = TrialName { id: TrialId([7; 8]), file: FileDigest([9; 8]) };

/// State of a device that has read these values from flash.
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
        let plan = format!("design={design} features=3 patients=60 better=high epsilon=8");
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
        state
            .begin(NAME, Plan::parse("features=3 patients=60 better=high epsilon=8").unwrap())
            .unwrap();
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
                // And the device names it.
                let blank = Box::new(DeviceState::<3, 8>::BLANK);
                let mut device: Device<_, _, _> =
                    Device::new(blank, flash, Repeatable::new(1), None);
                let mut hello = Vec::new();
                device.handle_line(b"HELLO", &mut |_, line| hello.extend_from_slice(line));
                let hello = String::from_utf8(hello).unwrap();
                assert!(hello.contains(&format!(" foreign stored=state-{version}")), "{hello}");
            }
        }
    }
}

/// A state of which a part is missing is not complete.
#[test]
fn missing_parts_are_noticed() {
    let mut state = Box::new(DeviceState::<3, 8>::BLANK);
    state
        .begin(NAME, Plan::parse("features=2 patients=60 better=high epsilon=8").unwrap())
        .unwrap();
    let tally = DeviceState::<3, 8>::key(Part::Tally(1));
    let ledger = DeviceState::<3, 8>::key(Part::Ledger(0));
    for missing in [None, Some(PROGRESS), Some(tally), Some(ledger)] {
        let mut read = Box::new(DeviceState::<3, 8>::BLANK);
        let mut passes = 0;
        while read.another_pass(passes) {
            for key in 0..state.count() {
                let length = if missing == Some(key) { 0 } else { state.length(key) };
                let mut value = vec![0; length];
                if length > 0 {
                    state.encode(key, &mut value);
                }
                read.decode(key, &value).unwrap();
            }
            passes += 1;
        }
        assert_eq!(read.finish(), missing.is_none(), "{missing:?}");
    }
}

/// Who no longer waits takes no room on flash.
#[test]
fn free_slots_are_absent() {
    let mut state = Box::new(DeviceState::<3, 8>::BLANK);
    state
        .begin(NAME, Plan::parse("features=2 patients=60 better=high epsilon=8").unwrap())
        .unwrap();
    let mut chance = Sampler::<Xoshiro256PlusPlus>::seed_from_u64(5);
    let stored = |state: &DeviceState<3, 8>| {
        (DeviceState::<3, 8>::WAITING..state.count()).filter(|key| state.length(*key) > 0).count()
    };
    assert_eq!(stored(&state), 0);
    for patient in 1..=3 {
        state.trial_mut().unwrap().assign(0, None, &mut chance).unwrap();
        assert_eq!(stored(&state), patient);
    }
    state.trial_mut().unwrap().outcome(2, 1, &mut chance).unwrap();
    assert_eq!(stored(&state), 2);
}

/// A custodian's part that no device wrote is refused.
#[test]
fn impossible_custody_is_refused() {
    let good = Custody::NEW.encode();
    assert!(Custody::decode(&good).is_some());
    // Neither with a key nor without; more spent than the lifetime budget.
    for (at, byte) in [(0, 2), (36, 0xff)] {
        let mut bad = good;
        bad[at] = byte;
        assert!(Custody::decode(&bad).is_none(), "byte {at}");
    }
}

/// The custodian's part, tallies and waiting patients are secret, each with a place of its own;
/// features beyond the plan take no room.
#[test]
fn secret_parts_have_places_of_their_own() {
    let mut state = Box::new(DeviceState::<3, 8>::BLANK);
    state
        .begin(NAME, Plan::parse("features=2 patients=60 better=high epsilon=8").unwrap())
        .unwrap();
    let mut places = Vec::new();
    for key in 0..state.count() {
        let secret = key == CUSTODY
            || key >= DeviceState::<3, 8>::WAITING
            || matches!(DeviceState::<3, 8>::part(key), Part::Tally(_));
        assert_eq!(state.secret(key).is_some(), secret, "{key}");
        places.extend(state.secret(key).map(core::ptr::from_ref));
        if let Part::Tally(j) | Part::Ledger(j) = DeviceState::<3, 8>::part(key) {
            assert_eq!(state.length(key) > 0, j < 2, "{key}");
        }
        let longest = if key >= DeviceState::<3, 8>::WAITING { 4 } else { state.length(key) };
        assert_eq!(state.longest(key), longest, "{key}");
    }
    places.sort();
    places.dedup();
    assert_eq!(places.len(), 1 + 3 + 8);
}
