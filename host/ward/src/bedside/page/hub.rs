//! Between the pages and the thread at the device: an order is passed on once under its name, and
//! every request with that name gets its answer.
//!
//! # Memory
//! An order that was done for a patient is remembered as long as the program runs, because its
//! patient can be asked for as long: a form sent again, however late, does nothing twice. The log
//! holds more about each of them than is kept here. A failure or a question does nothing, so it may
//! be asked again: of those the last [`KEPT`] answers are kept.

use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::json;
use tokio::sync::watch;

use super::state::State;
use crate::bedside::orders::{Given, News, Order, SCREEN, SILENCE, Ticket, Told};
use crate::records::pin::Pin;
use crate::records::trial_file::TrialFile;

/// Answers that are kept of questions and of orders that failed.
const KEPT: usize = 100;
/// Orders that may wait for the device at a time.
const MOST_WAITING: usize = 64;

/// Joins pages and worker.
pub struct Hub {
    orders: Sender<Given>,
    inner: Mutex<Inner>,
    /// Counts changes of the state and of answers.
    changes: watch::Sender<u64>,
}

struct Inner {
    state: State,
    /// When the device thread last told something.
    heard: Instant,
    /// The state as it was last told.
    text: String,
    /// Every order that is remembered, by the name of its form.
    orders: HashMap<String, Remembered>,
    /// Forms whose answer may still come or change.
    open: HashMap<Ticket, String>,
    /// Forms of questions and of orders that have not been done for a patient, oldest first.
    passing: VecDeque<String>,
    /// Orders without an answer.
    waiting: usize,
    last: Ticket,
}

/// An order under the name of its form.
struct Remembered {
    ticket: Ticket,
    kind: Kind,
    /// The answer, as JSON.
    answer: Option<String>,
}

/// Whether an order is remembered for good once it is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It asks, and its failure is of interest to nobody else.
    Question,
    /// It does something for a patient.
    Patient,
    /// It does something that can be done again.
    Other,
}

impl Kind {
    const fn of(order: &Order) -> Self {
        match order {
            Order::Find { .. }
            | Order::Check { .. }
            | Order::Report
            | Order::Unblind { .. }
            | Order::List
            | Order::SignIn { .. }
            | Order::SignOut
            | Order::Here
            | Order::CheckPin => Self::Question,
            Order::Enrol { .. }
            | Order::NotEligible { .. }
            | Order::Outcome { .. }
            | Order::Lost { .. }
            | Order::Replace { .. }
            | Order::Note { .. } => Self::Patient,
            Order::Operator { .. }
            | Order::SaveList
            | Order::Elsewhere { .. }
            | Order::Drop { .. } => Self::Other,
        }
    }
}

impl Inner {
    /// Keeps an answer; whether somebody asked for it.
    fn keep(&mut self, ticket: Ticket, news: &News) -> bool {
        let Some(answer) = self.state.answer(news) else { return false };
        let Some(form) = self.open.get(&ticket) else { return false };
        let Some(order) = self.orders.get_mut(form) else { return false };
        // Replaces an earlier failure: an enrolment that failed because the disk was full may be
        // answered later.
        if order.answer.replace(answer.to_string()).is_none() {
            self.waiting -= 1;
        }
        let undone = matches!(news, News::Failed(_) | News::WrongPin(_) | News::Doubt(_));
        if order.kind == Kind::Patient && !undone {
            self.passing.retain(|one| one != form);
            self.open.remove(&ticket);
        }
        true
    }

    /// Forgets the oldest answers that need not be remembered.
    fn forget(&mut self) {
        let answered =
            |form: &String| self.orders.get(form).is_some_and(|order| order.answer.is_some());
        if self.passing.len() > KEPT
            && let Some(place) = self.passing.iter().position(answered)
            && let Some(form) = self.passing.remove(place)
            && let Some(order) = self.orders.remove(&form)
        {
            self.open.remove(&order.ticket);
        }
    }
}

impl Hub {
    /// A hub that has heard nothing yet.
    #[must_use]
    pub fn new(trial: TrialFile, orders: Sender<Given>) -> Self {
        let state = State::new(trial);
        let text = state.whole_text();
        let (forms, open, passing) = (HashMap::new(), HashMap::new(), VecDeque::new());
        let (waiting, last, heard) = (0, SCREEN, Instant::now());
        let inner = Inner { state, heard, text, orders: forms, open, passing, waiting, last };
        Self { orders, inner: Mutex::new(inner), changes: watch::Sender::new(0) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes news of the worker.
    pub fn hear(&self, told: &Told) {
        let mut inner = self.inner();
        inner.heard = Instant::now();
        // Other pages need not know that a question had no answer.
        let form = told.ticket.and_then(|ticket| inner.open.get(&ticket));
        let order = form.and_then(|form| inner.orders.get(form));
        if order.is_none_or(|order| order.kind != Kind::Question) {
            inner.state.news(told);
        }
        let text = inner.state.whole_text();
        let mut changed = text != inner.text;
        inner.text = text;
        changed |= told.ticket.is_some_and(|ticket| inner.keep(ticket, &told.news));
        drop(inner);
        if changed {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// Subscribes to the number of changes.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The state as JSON, as the page at this seat may see it.
    #[must_use]
    pub fn text(&self, seat: &str) -> String {
        let inner = self.inner();
        inner.state.json_at(seat, inner.heard.elapsed() >= SILENCE).to_string()
    }

    /// Looks at the state.
    pub(super) fn with_state<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.inner().state)
    }

    /// Gives an order, unless one came under this name before.
    ///
    /// # Errors
    /// Too many orders wait, or the thread at the device ended.
    pub fn give(
        &self,
        form: &str,
        seat: &str,
        pin: Option<Pin>,
        order: Order,
    ) -> Result<(), &'static str> {
        let mut inner = self.inner();
        if inner.orders.contains_key(form) {
            return Ok(());
        }
        if inner.waiting >= MOST_WAITING {
            return Err("too many orders wait for the device: nothing was done");
        }
        inner.last += 1;
        let (ticket, kind) = (inner.last, Kind::of(&order));
        let seat = seat.to_owned();
        if self.orders.send(Given { ticket, seat, pin, order }).is_err() {
            return Err("the thread at the device ended: start the program again");
        }
        inner.waiting += 1;
        inner.orders.insert(form.to_owned(), Remembered { ticket, kind, answer: None });
        inner.open.insert(ticket, form.to_owned());
        inner.passing.push_back(form.to_owned());
        inner.forget();
        Ok(())
    }

    /// The answer to an order once it is there.
    pub async fn answer(&self, form: &str) -> String {
        let mut changes = self.changes();
        loop {
            let answer = self.inner().orders.get(form).map(|order| order.answer.clone());
            match answer {
                Some(Some(answer)) => return answer,
                Some(None) if changes.changed().await.is_ok() => {}
                _ => return json!({ "failed": "the answer is not known any more" }).to_string(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::log::NoteKind;
    use std::sync::mpsc::{Receiver, channel};

    fn hub() -> (Hub, Receiver<Given>) {
        let (orders, given) = channel();
        (Hub::new(TrialFile::example().unwrap(), orders), given)
    }

    fn give(hub: &Hub, form: &str, order: Order) -> Result<(), &'static str> {
        hub.give(form, "", None, order)
    }

    fn fails(hub: &Hub, ticket: Ticket) {
        hub.hear(&Told { ticket: Some(ticket), news: News::Failed("no".to_owned()) });
    }

    /// An order is passed on once under its name; so many may wait, and no more.
    #[test]
    fn orders_pass_once_and_few_wait() {
        let (hub, given) = hub();
        for form in 0..MOST_WAITING {
            for _ in 0..2 {
                assert_eq!(give(&hub, &form.to_string(), Order::Lost { number: 1 }), Ok(()));
            }
        }
        assert_eq!(given.try_iter().count(), MOST_WAITING);
        assert!(give(&hub, "more", Order::Lost { number: 1 }).is_err());
        assert_eq!(given.try_iter().count(), 0);
        fails(&hub, 1);
        assert_eq!(give(&hub, "more", Order::Lost { number: 1 }), Ok(()));
    }

    /// Old failures are forgotten, an order that is waited for is not.
    #[test]
    fn an_awaited_answer_is_kept() {
        let (hub, given) = hub();
        give(&hub, "awaited", Order::Lost { number: 1 }).unwrap();
        for form in 0..2 * KEPT {
            give(&hub, &form.to_string(), Order::Lost { number: 2 }).unwrap();
            fails(&hub, form as Ticket + 2);
        }
        assert_eq!(hub.inner().orders.len(), KEPT);
        assert_eq!(hub.inner().open.len(), KEPT);
        given.try_iter().for_each(drop);
        give(&hub, "awaited", Order::Lost { number: 1 }).unwrap();
        assert_eq!(given.try_iter().count(), 0, "it is not sent again");
    }

    /// An order that was done for a patient is remembered whatever comes after it, also if it
    /// failed first.
    #[test]
    fn a_done_order_is_remembered() {
        let (hub, given) = hub();
        let kind = NoteKind::Deviation;
        let note = Order::Note { number: 1, kind, text: "a".into(), should_be: None };
        give(&hub, "done", note).unwrap();
        fails(&hub, 1);
        hub.hear(&Told { ticket: Some(1), news: News::Noted("P-1".to_owned()) });
        for form in 0..2 * KEPT {
            give(&hub, &form.to_string(), Order::List).unwrap();
            let news = News::List("code".to_owned());
            hub.hear(&Told { ticket: Some(form as Ticket + 2), news });
        }
        assert_eq!(hub.inner().orders.len(), KEPT + 1);
        given.try_iter().for_each(drop);
        give(&hub, "done", Order::Lost { number: 1 }).unwrap();
        assert_eq!(given.try_iter().count(), 0, "it is not carried out again");
        let kept = hub.inner().orders["done"].answer.clone();
        assert_eq!(kept, Some(json!({ "done": "noted", "code": "P-1" }).to_string()));
    }

    /// A failure is told to who asked: it may be about another patient than the one on the next
    /// page.
    #[test]
    fn a_failure_is_told_to_its_asker() {
        let (hub, _given) = hub();
        give(&hub, "question", Order::Find { code: "P-1".to_owned() }).unwrap();
        fails(&hub, 1);
        assert!(!hub.text("").contains("\"text\":\"no\""));
        assert_eq!(
            hub.inner().orders["question"].answer,
            Some(json!({ "failed": "no" }).to_string())
        );
        give(&hub, "order", Order::Lost { number: 1 }).unwrap();
        fails(&hub, 2);
        assert!(!hub.text("").contains("\"text\":\"no\""));
        hub.hear(&Told { ticket: None, news: News::Failed("the disk is full".to_owned()) });
        assert!(hub.text("").contains("\"text\":\"the disk is full\""));
    }
}
