//! The staff of a trial: who may work at the bedside, in which role, and with which PIN.
//!
//! The staff file lies beside the trial file (`trial.toml` has `trial.staff.toml`) and is kept with
//! `equipoise staff`:
//!
//! ```text
//! version = 1
//!
//! [[person]]
//! id = "ab"
//! name = "Anna Berg"
//! roles = ["enrol", "outcome"]
//! pin = "argon2id 19456 2 1 <32 hex digits: salt> <64 hex digits: hash>"
//! ```
//!
//! # Guarantees
//! * A PIN is never stored, only its Argon2id hash with a salt of its own; the numbers are memory
//!   in KiB, passes and lanes. A PIN has 6 to 12 digits.
//! * The file is for its owner alone, is replaced as a whole, and is refused if others could have
//!   written it ([`own_file`]).
//!
//! # Limits
//! Somebody who has the file can try all PINs of six digits offline: a hash takes some tens of
//! milliseconds, so a million of them take a night. A longer PIN helps; keeping the file to its
//! owner helps more.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::own_file::{self, write_private};
use crate::records::alike::alike;
use crate::records::pin::{Hashed, Pin};
use crate::records::text;

/// Longest short id.
pub const MAX_ID: usize = 8;
/// Longest name.
pub const MAX_NAME: usize = 30;
/// Version of the file.
const VERSION: i64 = 1;

/// Right of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Enrols patients and gives other kits.
    Enrol,
    /// Records outcomes, and declares them lost.
    Outcome,
    /// Keeps the staff file.
    Coordinate,
    /// Learns the arm of a patient of a blinded trial in an emergency.
    Unblind,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Enrol, Self::Outcome, Self::Coordinate, Self::Unblind];

    /// The name of the role.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enrol => "enrol",
            Self::Outcome => "outcome",
            Self::Coordinate => "coordinate",
            Self::Unblind => "unblind",
        }
    }
}

impl FromStr for Role {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let role = Self::ALL.into_iter().find(|role| role.name() == text.trim());
        let names = Self::ALL.map(Self::name).join(", ");
        role.ok_or_else(|| format!("{text:?} is no role, allowed {names}"))
    }
}

/// A person of the staff.
#[derive(Clone, PartialEq, Eq)]
pub struct Person {
    /// Short id, as it is typed and logged.
    pub id: String,
    /// Full name.
    pub name: String,
    /// Rights of the person.
    pub roles: Vec<Role>,
    pin: Hashed,
}

impl std::fmt::Debug for Person {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Person({}, {:?})", self.id, self.roles)
    }
}

impl Person {
    /// A new person.
    ///
    /// # Errors
    /// A value that is not allowed.
    pub fn new(id: &str, name: &str, roles: &[Role], pin: &Pin) -> Result<Self, Failure> {
        check(id, name, roles).map_err(Failure::Usage)?;
        pin.check_new().map_err(Failure::Usage)?;
        let (id, name) = (id.to_owned(), name.trim().to_owned());
        Ok(Self { id, name, roles: ordered(roles), pin: Hashed::new(pin)? })
    }

    /// The person as the log and every list name them.
    #[must_use]
    pub fn operator(&self) -> String {
        format!("{} {}", self.id, self.name)
    }

    /// Whether the person has one of these roles.
    #[must_use]
    pub fn may(&self, roles: &[Role]) -> bool {
        roles.iter().any(|role| self.roles.contains(role))
    }

    /// Whether this is the person's PIN.
    ///
    /// # Errors
    /// The stored hash cannot be computed.
    pub fn knows(&self, pin: &Pin) -> Result<bool, Failure> {
        self.pin.is(pin).map_err(Failure::Usage)
    }
}

fn ordered(roles: &[Role]) -> Vec<Role> {
    Role::ALL.into_iter().filter(|role| roles.contains(role)).collect()
}

fn check(id: &str, name: &str, roles: &[Role]) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if id.is_empty() || id.len() > MAX_ID || !id.chars().all(plain) {
        return Err(format!("id = {id:?}, allowed 1 to {MAX_ID} letters A to Z, digits or -"));
    }
    text::check("name", name, MAX_NAME)?;
    if roles.is_empty() {
        let names = Role::ALL.map(Role::name).join(", ");
        return Err(format!("{id} has no role, allowed one or more of {names}"));
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    version: i64,
    #[serde(default)]
    person: Vec<RawPerson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPerson {
    id: String,
    name: String,
    roles: Vec<Role>,
    pin: String,
}

/// The staff of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staff {
    people: Vec<Person>,
}

impl Staff {
    /// The staff in a file that only its owner, the caller, can have written; none without a file.
    ///
    /// # Errors
    /// Others could have written it, or something in it is not allowed.
    pub fn read(path: &Path) -> Result<Option<Self>, Failure> {
        match own_file::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::file(path, &error)),
            Ok(bytes) => {
                let text = Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned());
                let staff = Self::parse(&text);
                staff
                    .map(Some)
                    .map_err(|what| Failure::Usage(format!("{}: {what}", path.display())))
            }
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        // The parser's message would repeat the line, which may hold a hash.
        let raw: Raw = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        if raw.version != VERSION {
            return Err(format!("version = {}, allowed {VERSION}", raw.version));
        }
        let mut staff = Self { people: Vec::new() };
        for RawPerson { id, name, roles, pin } in raw.person {
            check(&id, &name, &roles)?;
            let pin = Hashed::parse(&pin).ok_or_else(|| format!("the pin of {id} is no hash"))?;
            staff.insert(Person { id, name, roles: ordered(&roles), pin })?;
        }
        Ok(staff)
    }

    /// Adds a person.
    ///
    /// # Errors
    /// There is somebody with this id or name, or one that looks like it.
    pub fn insert(&mut self, person: Person) -> Result<(), String> {
        let same =
            |known: &&Person| alike(&known.id, &person.id) || alike(&known.name, &person.name);
        if let Some(known) = self.people.iter().find(same) {
            return Err(format!(
                "{} {:?} is there already, as {} {:?}: allowed different ids and names",
                person.id, person.name, known.id, known.name
            ));
        }
        self.people.push(person);
        Ok(())
    }

    /// A staff of one person, who coordinates.
    ///
    /// # Errors
    /// The person does not.
    pub fn begin(person: Person) -> Result<Self, String> {
        if !person.may(&[Role::Coordinate]) {
            return Err(format!(
                "{} is the first person, who must have the role coordinate: otherwise nobody could add others",
                person.id
            ));
        }
        Ok(Self { people: vec![person] })
    }

    /// Everybody, in the order in which they were added.
    #[must_use]
    pub fn people(&self) -> &[Person] {
        &self.people
    }

    /// The person of this id.
    #[must_use]
    pub fn person(&self, id: &str) -> Option<&Person> {
        self.people.iter().find(|person| alike(&person.id, id))
    }

    /// Removes a person.
    ///
    /// # Errors
    /// There is no such person, or nobody who coordinates would be left.
    pub fn remove(&mut self, id: &str) -> Result<Person, String> {
        let place = self.place(id)?;
        let person = self.people.remove(place);
        self.coordinated().inspect_err(|_| self.people.insert(place, person.clone()))?;
        Ok(person)
    }

    /// Puts a person in the place of the one with the same id.
    pub fn replace(&mut self, person: Person) {
        if let Some(old) = self.people.iter_mut().find(|old| old.id == person.id) {
            *old = person;
        }
    }

    /// Gives a person other roles.
    ///
    /// # Errors
    /// There is no such person, no role, or nobody who coordinates would be left.
    pub fn set_roles(&mut self, id: &str, roles: &[Role]) -> Result<(), String> {
        let place = self.place(id)?;
        let mut changed = self.clone();
        if let Some(person) = changed.people.get_mut(place) {
            check(&person.id, &person.name, roles)?;
            person.roles = ordered(roles);
        }
        changed.coordinated()?;
        *self = changed;
        Ok(())
    }

    fn place(&self, id: &str) -> Result<usize, String> {
        let place = self.people.iter().position(|person| alike(&person.id, id));
        place.ok_or_else(|| format!("there is nobody with the id {id:?}"))
    }

    fn coordinated(&self) -> Result<(), String> {
        let some = self.people.iter().any(|person| person.may(&[Role::Coordinate]));
        some.then_some(()).ok_or_else(|| {
            "nobody with the role coordinate would be left; nothing changed".to_owned()
        })
    }

    /// Writes the file, for its owner alone.
    ///
    /// # Errors
    /// The disk refused; the file is as it was.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let mut text = format!(
            "# The staff of a trial, kept with `equipoise staff`. PINs are hashed; keep the file to its owner.\n\
             version = {VERSION}\n"
        );
        for person in &self.people {
            let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
            let roles: Vec<String> = person.roles.iter().map(|role| quoted(role.name())).collect();
            text += &format!(
                "\n[[person]]\nid = {}\nname = {}\nroles = [{}]\npin = \"{}\"\n",
                quoted(&person.id),
                quoted(&person.name),
                roles.join(", "),
                person.pin
            );
        }
        write_private(path, text, true).map_err(|error| Failure::file(path, &error))
    }
}

/// Where the staff file of a trial file lies.
#[must_use]
pub fn beside(trial: &Path) -> PathBuf {
    trial.with_extension("staff.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(id: &str, name: &str, roles: &[Role]) -> Person {
        Person::new(id, name, roles, &Pin::typed("271828")).unwrap()
    }

    /// A written file is read again; it is its owner's, and holds no PIN.
    #[test]
    fn staff_is_read_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trial.staff.toml");
        assert_eq!(Staff::read(&path).unwrap(), None);
        let mut staff = Staff::begin(person("ab", "Anna \"A\" Berg", &[Role::Coordinate])).unwrap();
        staff.insert(person("cd", "Chris Dahl", &[Role::Outcome, Role::Enrol])).unwrap();
        staff.write(&path).unwrap();
        let read = Staff::read(&path).unwrap().unwrap();
        assert_eq!(read, staff);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("271828") && text.contains("argon2id 19456 2 1 "), "{text}");
        let chris = read.person("CD").unwrap();
        assert_eq!(chris.roles, [Role::Enrol, Role::Outcome]);
        assert!(chris.knows(&Pin::typed("271828")).unwrap());
        assert!(!chris.knows(&Pin::typed("271829")).unwrap());
        assert!(!format!("{read:?} {:?}", Pin::typed("271828")).contains("271828"));
        for (from, to, why) in [
            ("version = 1", "version = 2", "version = 2, allowed 1"),
            ("argon2id", "md5", "the pin of ab is no hash"),
            ("id = \"cd\"", "id = \"AB\"", "is there already"),
            ("\"coordinate\"", "\"boss\"", "unknown variant `boss`"),
        ] {
            std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
            let error = Staff::read(&path).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("trial.staff.toml"), "{error}");
        }
    }

    /// PINs, ids and roles that are not allowed are refused; somebody always coordinates.
    #[test]
    fn bad_people_are_refused() {
        for pin in ["12345", "1234567890123", "12345a", "111111", ""] {
            let why = Person::new("ab", "A", &[Role::Enrol], &Pin::typed(pin)).unwrap_err();
            assert!(why.to_string().starts_with("this PIN is not allowed"), "{pin}: {why}");
        }
        for id in ["", "a b", "ninechars", "ä"] {
            assert!(Person::new(id, "A", &[Role::Enrol], &Pin::typed("271828")).is_err(), "{id}");
        }
        assert!(Person::new("ab", "A", &[], &Pin::typed("271828")).is_err());
        assert!(Staff::begin(person("ab", "A", &[Role::Enrol])).is_err());
        let mut staff = Staff::begin(person("ab", "A", &[Role::Coordinate])).unwrap();
        assert!(staff.insert(person("AB", "B", &[Role::Enrol])).is_err());
        assert!(staff.insert(person("cd", "a", &[Role::Enrol])).is_err());
        let before = staff.clone();
        assert!(staff.remove("ab").is_err() && staff.set_roles("ab", &[Role::Enrol]).is_err());
        assert!(staff.remove("xy").unwrap_err().contains("\"xy\""));
        assert_eq!(staff, before);
    }
}
