//! Who sits where: the people signed in at the views, and who may give which order.
//!
//! A seat is a view at which one person works at a time: the screen, or one tab of a browser. A
//! seat that gives no order for the time that the trial file names is left; its person has to sign
//! in again. Orders of a seat that nobody sits at are refused, whatever the view shows.

use std::collections::BTreeMap;
use std::time::Instant;

use super::Bedside;
use super::orders::{Given, Order};
use crate::failure::Failure;
use crate::records::signing::role_for;
use crate::records::staff::{Person, Role};

/// Name of a seat: `screen`, or the random name of a tab.
pub type Seat = String;

/// The seat of the screen.
pub const SCREEN_SEAT: &str = "screen";

/// Who is signed in at which seat, as the log names them.
pub type Signed = BTreeMap<Seat, String>;

/// A person at a seat.
#[derive(Debug)]
struct Seated {
    id: String,
    operator: String,
    used: Instant,
}

/// In whose name an order is carried out.
#[derive(Clone, Debug)]
pub struct Author {
    person: Person,
    /// The role in which the person signs it, if they do.
    role: Option<Role>,
}

/// Everybody who is signed in.
#[derive(Debug, Default)]
pub struct Seats(BTreeMap<Seat, Seated>);

impl Seats {
    /// Who is signed in where.
    pub fn signed(&self) -> Signed {
        self.0.iter().map(|(seat, seated)| (seat.clone(), seated.operator.clone())).collect()
    }

    /// Signs a person in, or out, if the order asks for that. `None` for every other order.
    pub fn serve(&mut self, bedside: &mut Bedside, given: &Given) -> Option<Result<(), Failure>> {
        match &given.order {
            Order::SignIn { id, pin } => Some(self.sign_in(bedside, &given.seat, id, pin)),
            Order::SignOut => {
                self.leave(bedside, &given.seat, "signed out");
                Some(Ok(()))
            }
            _ => None,
        }
    }

    fn sign_in(
        &mut self,
        bedside: &mut Bedside,
        seat: &Seat,
        id: &str,
        pin: &crate::records::pin::Pin,
    ) -> Result<(), Failure> {
        let person = bedside.sign_in(id, pin, view(seat))?;
        let (id, operator) = (person.id.clone(), person.operator());
        self.0.insert(seat.clone(), Seated { id, operator, used: Instant::now() });
        Ok(())
    }

    fn leave(&mut self, bedside: &mut Bedside, seat: &str, why: &str) {
        if let Some(seated) = self.0.remove(seat) {
            // A log that cannot be written keeps nobody at a seat.
            let _ = bedside.sign_out(&seated.id, view(seat), why);
        }
    }

    /// Leaves every seat that was not used for the time that the trial file names.
    pub fn lock(&mut self, bedside: &mut Bedside) {
        let time = bedside.trial().signing.lock_after();
        let alone = |seated: &&Seated| seated.used.elapsed() >= time;
        let left: Vec<Seat> =
            self.0.iter().filter(|(_, one)| alone(one)).map(|(seat, _)| seat.clone()).collect();
        left.iter().for_each(|seat| self.leave(bedside, seat, "left alone"));
    }

    /// In whose name an order is carried out; nobody's where there is no staff file.
    ///
    /// # Errors
    /// Nobody sits there, the person may not do this, or the PIN is missing or wrong.
    pub fn author(
        &mut self,
        bedside: &mut Bedside,
        given: &Given,
    ) -> Result<Option<Author>, Failure> {
        if bedside.staff().is_none() {
            return Ok(None);
        }
        let Some(seated) = self.0.get_mut(&given.seat) else {
            return Err(Failure::Refused("sign in first; nothing was done".to_owned()));
        };
        seated.used = Instant::now();
        let id = seated.id.clone();
        let person = bedside.person(&id).inspect_err(|_| drop(self.0.remove(&given.seat)))?;
        let role = needed(&given.order).map(|roles| role_for(&person, roles)).transpose()?;
        let signs = role.filter(|role| bedside.trial().signing.signs(*role));
        if signs.is_some() || given.order == Order::CheckPin {
            let pin = given.pin.as_ref();
            let pin = pin.ok_or_else(|| {
                Failure::Refused("this takes your PIN; nothing was done".to_owned())
            })?;
            bedside.verify(&id, pin)?;
        }
        Ok(Some(Author { person, role: signs }))
    }
}

impl Author {
    /// Writes the log in this name from here on.
    pub fn begin(&self, bedside: &mut Bedside) {
        bedside.act_as(&self.person, self.role);
    }
}

/// The view of a seat, as the log names it.
fn view(seat: &str) -> &'static str {
    if seat == SCREEN_SEAT { "screen" } else { "page" }
}

/// The roles of which an order needs one; none for orders that everybody may give.
const fn needed(order: &Order) -> Option<&'static [Role]> {
    match order {
        Order::Enrol { .. }
        | Order::NotEligible { .. }
        | Order::Replace { .. }
        | Order::Drop { .. } => Some(&[Role::Enrol]),
        Order::Outcome { .. } | Order::Lost { .. } => Some(&[Role::Outcome]),
        Order::Unblind { .. } => Some(&[Role::Unblind]),
        Order::Elsewhere { .. } => Some(&[Role::Enrol, Role::Coordinate]),
        Order::Note { .. } => Some(&[Role::Enrol, Role::Outcome, Role::Coordinate]),
        _ => None,
    }
}
