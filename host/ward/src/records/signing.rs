//! Signatures in the log: who signed, in which role, and what it means.
//!
//! A person signs by typing their PIN at an act: at those that the trial file names (`sign`), and
//! with every command of a script. What the signature means follows from the line that holds it
//! ([`meaning`]). A signature says that somebody with this PIN did it at this program; it is no
//! login to the system, and by itself no signature in the sense of a law.
//!
//! # Wrong PINs
//! Every wrong PIN has a line in the log, without the PIN. After [`MOST_WRONG`] in a row the person
//! is paused for [`PAUSE`], also if the program is started again meanwhile.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::records::alike::folded;
use crate::records::log::{Entry, Event};
use crate::records::pin::Pin;
use crate::records::staff::{Person, Role, Staff};

/// Wrong PINs in a row after which a person is paused.
pub const MOST_WRONG: u32 = 5;
/// How long.
pub const PAUSE: Duration = Duration::from_secs(5 * 60);
/// Stands for the operator of lines that are written while nobody is signed in.
pub const NOBODY: &str = "nobody signed in";
/// Minutes after which a view that is left alone shows nothing of patients, unless the trial file
/// says another number.
const LOCK_AFTER: f64 = 10.0;

/// A person who typed their PIN for what is done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// Short id.
    pub id: String,
    /// The role in which they sign.
    pub role: Role,
}

/// A signature, as a line of the log holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// Short id of the person.
    pub id: String,
    /// The role in which they signed.
    pub role: Role,
    /// The act, with the patient of the line as its object.
    pub meaning: String,
}

impl Signature {
    /// The signature of a line with this event, if it can have one.
    #[must_use]
    pub fn of(signer: &Signer, event: &Event) -> Option<Self> {
        let Signer { id, role } = signer.clone();
        meaning(event).map(|meaning| Self { id, role, meaning: meaning.to_owned() })
    }
}

/// Meaning of a signature under an event.
#[must_use]
pub const fn meaning(event: &Event) -> Option<&'static str> {
    Some(match event {
        Event::Eligible { .. } => "found eligible",
        Event::NotEligible { .. } => "found not eligible",
        Event::Wanted { .. } | Event::Enrol { .. } => "asked to enrol",
        Event::Arm { .. } | Event::Kit { .. } => "enrolled",
        Event::Outcome { .. } => "recorded the outcome of",
        Event::Lost { .. } => "declared lost the outcome of",
        Event::Replaced { .. } => "gave another kit to",
        Event::Unblinded { .. } => "unblinded",
        Event::Note { .. } => "wrote a note on",
        _ => return None,
    })
}

/// Which acts are signed, and when views are locked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signing {
    /// Acts that take the PIN again, by the role that they need.
    pub acts: Vec<Role>,
    /// Seconds after which a view that is left alone shows nothing of patients.
    lock_after: u64,
}

impl Signing {
    /// Checks the keys `sign` and `lock-after` of a trial file.
    ///
    /// # Errors
    /// The value and what is allowed.
    pub fn new(acts: Vec<Role>, minutes: Option<f64>) -> Result<Self, String> {
        for (place, act) in acts.iter().enumerate() {
            if *act == Role::Coordinate || acts.iter().take(place).any(|other| other == act) {
                return Err(format!(
                    "sign has {:?}, allowed \"enrol\", \"outcome\", \"unblind\", each once",
                    act.name()
                ));
            }
        }
        let minutes = minutes.unwrap_or(LOCK_AFTER);
        if !(0.05..=480.0).contains(&minutes) {
            return Err(format!("lock-after = {minutes}, allowed 0.05 to 480 minutes"));
        }
        Ok(Self { acts, lock_after: (minutes * 60.0).round() as u64 })
    }

    /// Whether this act takes the PIN again.
    #[must_use]
    pub fn signs(&self, act: Role) -> bool {
        self.acts.contains(&act)
    }

    /// How long a view may be left alone.
    #[must_use]
    pub const fn lock_after(&self) -> Duration {
        Duration::from_secs(self.lock_after)
    }

    /// Lines of the trial file's canonical form.
    #[must_use]
    pub fn canonical(&self) -> String {
        self.acts.iter().map(|act| format!("sign {}\n", act.name())).collect()
    }
}

/// Wrong PINs according to the log: how many in a row, and when the last one was.
#[derive(Clone, Debug, Default)]
pub struct Attempts(BTreeMap<String, (u32, Timestamp)>);

impl Attempts {
    /// Takes one more line of the log.
    pub fn apply(&mut self, entry: &Entry) {
        let time = entry.time.parse().unwrap_or_default();
        match &entry.event {
            Event::WrongPin { id } => {
                let (count, last) = self.0.entry(folded(id)).or_insert((0, time));
                // After a pause a person has as many tries as before.
                *count = if *count >= MOST_WRONG { 1 } else { *count + 1 };
                *last = time;
            }
            Event::SignedIn { id, .. } => drop(self.0.remove(&folded(id))),
            _ => {
                if let Some(signed) = &entry.signed {
                    self.0.remove(&folded(&signed.id));
                }
            }
        }
    }

    /// Why a person cannot try now.
    fn paused(&self, id: &str, now: Timestamp) -> Option<String> {
        let (count, last) = self.0.get(&folded(id))?;
        let over = *last + PAUSE;
        (*count >= MOST_WRONG && now < over).then(|| {
            let seconds = over.duration_since(now).as_secs().max(1);
            format!(
                "{id} is paused after {MOST_WRONG} wrong PINs: try again in {} min {:02} s",
                seconds / 60,
                seconds % 60
            )
        })
    }

    fn left(&self, id: &str) -> u32 {
        let count = self.0.get(&folded(id)).map_or(0, |(count, _)| *count);
        if count >= MOST_WRONG { MOST_WRONG } else { MOST_WRONG - count }
    }
}

/// The person with this id and PIN, according to the staff file as it is now.
///
/// # Errors
/// No such person, a wrong PIN (which `note` has written to the log), or a pause.
pub fn verify(
    staff: &Path,
    attempts: &Attempts,
    id: &str,
    pin: &Pin,
    note: impl FnOnce(Event) -> Result<(), Failure>,
) -> Result<Person, Failure> {
    let person = person(staff, id)?;
    if let Some(why) = attempts.paused(&person.id, Timestamp::now()) {
        return Err(Failure::Refused(why));
    }
    if person.knows(pin)? {
        return Ok(person);
    }
    note(Event::WrongPin { id: person.id.clone() })?;
    let id = &person.id;
    Err(Failure::Refused(match attempts.left(id) - 1 {
        0 => format!("the PIN of {id} is wrong, for the fifth time: {id} is paused for 5 minutes"),
        1 => format!("the PIN of {id} is wrong: 1 try is left"),
        left => format!("the PIN of {id} is wrong: {left} tries are left"),
    }))
}

/// The person with this id, according to the staff file as it is now.
///
/// # Errors
/// No such person, or the file cannot be used.
pub fn person(staff: &Path, id: &str) -> Result<Person, Failure> {
    let gone = || Failure::Usage(format!("the staff file {} is gone", staff.display()));
    let people = Staff::read(staff)?.ok_or_else(gone)?;
    let unknown = || Failure::Refused(format!("the staff file has nobody with the id {id:?}"));
    people.person(id.trim()).cloned().ok_or_else(unknown)
}

/// The role in which a person may do this, out of those that allow it.
///
/// # Errors
/// The person has none of them.
pub fn role_for(person: &Person, roles: &[Role]) -> Result<Role, Failure> {
    let role = roles.iter().find(|role| person.roles.contains(role)).copied();
    role.ok_or_else(|| {
        let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
        let own: Vec<&str> = person.roles.iter().map(|role| role.name()).collect();
        Failure::Refused(format!(
            "{} may not do this: it takes the role {}, and {} has {}; nothing was done",
            person.operator(),
            names.join(" or "),
            person.id,
            own.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(time: &str, event: Event) -> Entry {
        let (time, operator) = (time.to_owned(), NOBODY.to_owned());
        Entry { line: 1, time, operator, signed: None, event }
    }

    /// Five wrong PINs pause one person for five minutes; a right one or the pause begins anew.
    #[test]
    fn five_wrong_pins_pause() {
        let mut attempts = Attempts::default();
        let wrong = |minute: u32| {
            entry(&format!("2026-11-16T08:{minute:02}:00Z"), Event::WrongPin { id: "ab".into() })
        };
        let paused = |attempts: &Attempts, id: &str, time: &str| {
            attempts.paused(id, format!("2026-11-16T{time}Z").parse().unwrap())
        };
        (0..4).for_each(|minute| attempts.apply(&wrong(minute)));
        assert_eq!((paused(&attempts, "ab", "08:03:01"), attempts.left("AB")), (None, 1));
        attempts.apply(&wrong(4));
        let why = paused(&attempts, "AB", "08:08:59").unwrap();
        assert!(why.contains("paused after 5 wrong PINs: try again in 0 min 01 s"), "{why}");
        assert_eq!(paused(&attempts, "cd", "08:04:01"), None);
        assert_eq!((paused(&attempts, "ab", "08:09:00"), attempts.left("ab")), (None, 5));
        attempts.apply(&wrong(10));
        assert_eq!((paused(&attempts, "ab", "08:10:01"), attempts.left("ab")), (None, 4));
        let id = "ab".to_owned();
        attempts.apply(&entry("2026-11-16T08:11:00Z", Event::SignedIn { id, view: String::new() }));
        assert_eq!(attempts.left("ab"), 5);
    }

    /// `sign` names acts once each; `lock-after` has limits.
    #[test]
    fn keys_of_the_trial_file() {
        let signing = Signing::new(vec![Role::Enrol, Role::Unblind], Some(0.1)).unwrap();
        assert!(signing.signs(Role::Enrol) && !signing.signs(Role::Outcome));
        assert_eq!(signing.lock_after(), Duration::from_secs(6));
        assert_eq!(Signing::new(vec![], None).unwrap().lock_after(), Duration::from_secs(600));
        for (acts, minutes) in [
            (vec![Role::Coordinate], None),
            (vec![Role::Enrol, Role::Enrol], None),
            (vec![], Some(0.0)),
            (vec![], Some(f64::NAN)),
            (vec![], Some(481.0)),
        ] {
            assert!(Signing::new(acts, minutes).unwrap_err().contains("allowed"));
        }
    }
}
