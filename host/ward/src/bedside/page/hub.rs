//! Between the pages and the thread at the device: an order is passed on once under its name, and
//! every request with that name gets its answer.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::state::State;
use crate::bedside::orders::{Given, Order, SCREEN, Ticket, Told};
use crate::records::trial_file::TrialFile;

/// Answers that are kept, for repeats.
const KEPT: usize = 1000;
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
    /// The state as it was last told.
    text: String,
    /// Names of forms, in the order in which they came.
    forms: VecDeque<String>,
    answers: HashMap<String, (Ticket, Option<Value>)>,
    /// Tickets of orders that only ask.
    questions: HashSet<Ticket>,
    last: Ticket,
}

impl Hub {
    /// A hub that has heard nothing yet.
    #[must_use]
    pub fn new(trial: TrialFile, orders: Sender<Given>) -> Self {
        let state = State::new(trial);
        let text = state.json().to_string();
        let (forms, answers, questions) = (VecDeque::new(), HashMap::new(), HashSet::new());
        let inner = Mutex::new(Inner { state, text, forms, answers, questions, last: SCREEN });
        Self { orders, inner, changes: watch::Sender::new(0) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes news of the worker.
    pub fn hear(&self, told: &Told) {
        let mut inner = self.inner();
        // Other pages need not know that a question had no answer.
        let question = told.ticket.is_some_and(|ticket| inner.questions.remove(&ticket));
        if !question {
            inner.state.news(told);
        }
        let text = inner.state.json().to_string();
        let mut changed = text != inner.text;
        inner.text = text;
        if let (Some(ticket), Some(answer)) = (told.ticket, inner.state.answer(&told.news)) {
            let asked = inner.answers.values_mut().find(|(asker, _)| *asker == ticket);
            if let Some((_, kept)) = asked {
                // Replaces an earlier failure: an enrolment that failed because the disk was full
                // may be answered later.
                *kept = Some(answer);
                changed = true;
            }
        }
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

    /// The state as JSON.
    #[must_use]
    pub fn text(&self) -> String {
        self.inner().text.clone()
    }

    /// Looks at the state.
    pub(super) fn with_state<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.inner().state)
    }

    /// Gives an order, unless one came under this name before.
    ///
    /// # Errors
    /// Too many orders wait, or the thread at the device ended.
    pub fn give(&self, form: &str, order: Order) -> Result<(), &'static str> {
        let mut inner = self.inner();
        if inner.answers.contains_key(form) {
            return Ok(());
        }
        let waiting = inner.answers.values().filter(|(_, answer)| answer.is_none()).count();
        if waiting >= MOST_WAITING {
            return Err("too many orders wait for the device: nothing was done");
        }
        inner.last += 1;
        let ticket = inner.last;
        if order.is_question() {
            inner.questions.insert(ticket);
        }
        if self.orders.send(Given { ticket, order }).is_err() {
            return Err("the thread at the device ended: start the program again");
        }
        inner.answers.insert(form.to_owned(), (ticket, None));
        inner.forms.push_back(form.to_owned());
        if inner.forms.len() > KEPT {
            let done = |form: &String| inner.answers.get(form).is_some_and(|(_, a)| a.is_some());
            if let Some(place) = inner.forms.iter().position(done)
                && let Some(oldest) = inner.forms.remove(place)
            {
                inner.answers.remove(&oldest);
            }
        }
        Ok(())
    }

    /// The answer to an order once it is there.
    pub async fn answer(&self, form: &str) -> Value {
        let mut changes = self.changes();
        loop {
            let answer = self.inner().answers.get(form).map(|(_, answer)| answer.clone());
            match answer {
                Some(Some(answer)) => return answer,
                Some(None) if changes.changed().await.is_ok() => {}
                _ => return json!({ "failed": "the answer is not known any more" }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bedside::orders::News;
    use std::sync::mpsc::{Receiver, channel};

    fn hub() -> (Hub, Receiver<Given>) {
        let (orders, given) = channel();
        (Hub::new(TrialFile::example().unwrap(), orders), given)
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
                assert_eq!(hub.give(&form.to_string(), Order::Lost { number: 1 }), Ok(()));
            }
        }
        assert_eq!(given.try_iter().count(), MOST_WAITING);
        assert!(hub.give("more", Order::Lost { number: 1 }).is_err());
        assert_eq!(given.try_iter().count(), 0);
        fails(&hub, 1);
        assert_eq!(hub.give("more", Order::Lost { number: 1 }), Ok(()));
    }

    /// Old answers are forgotten, one that is waited for is not.
    #[test]
    fn an_awaited_answer_is_kept() {
        let (hub, given) = hub();
        hub.give("awaited", Order::Lost { number: 1 }).unwrap();
        for form in 0..2 * KEPT {
            hub.give(&form.to_string(), Order::Lost { number: 2 }).unwrap();
            fails(&hub, form as Ticket + 2);
        }
        assert_eq!(hub.inner().answers.len(), KEPT);
        given.try_iter().for_each(drop);
        hub.give("awaited", Order::Lost { number: 1 }).unwrap();
        assert_eq!(given.try_iter().count(), 0, "it is not sent again");
    }

    /// The failure of a question is told to who asked; that of another order to every page.
    #[test]
    fn a_failed_question_is_not_news() {
        let (hub, _given) = hub();
        hub.give("question", Order::Find { code: "P-1".to_owned() }).unwrap();
        fails(&hub, 1);
        assert!(!hub.text().contains("\"text\":\"no\""));
        assert_eq!(hub.inner().answers["question"].1, Some(json!({ "failed": "no" })));
        hub.give("order", Order::Lost { number: 1 }).unwrap();
        fails(&hub, 2);
        assert!(hub.text().contains("\"text\":\"no\""));
    }
}
