//! Between the pages and the thread at the device: orders go in once, answers come out to whoever
//! asks under the same name.

use crate::prelude::*;
use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::state::State;
use crate::host::terminal::orders::{Given, Order, SCREEN, Ticket, Told};
use crate::host::terminal::trial_file::TrialFile;

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
    /// Forms in the order they came.
    forms: VecDeque<String>,
    answers: HashMap<String, (Ticket, Option<Value>)>,
    last: Ticket,
}

impl Hub {
    /// A hub that has heard nothing yet.
    #[must_use]
    pub fn new(trial: TrialFile, orders: Sender<Given>) -> Self {
        let state = State::new(trial);
        let text = state.json().to_string();
        let (forms, answers) = (VecDeque::new(), HashMap::new());
        let inner = Mutex::new(Inner { state, text, forms, answers, last: SCREEN });
        Self { orders, inner, changes: watch::Sender::new(0) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes news of the worker.
    pub fn hear(&self, told: &Told) {
        let mut inner = self.inner();
        inner.state.news(told);
        let text = inner.state.json().to_string();
        let mut changed = text != inner.text;
        inner.text = text;
        if let (Some(ticket), Some(answer)) = (told.ticket, inner.state.answer(&told.news)) {
            let asked = inner.answers.values_mut().find(|(asker, _)| *asker == ticket);
            if let Some((_, kept)) = asked {
                // An enrolment that failed for want of disk space may still be answered.
                *kept = Some(answer);
                changed = true;
            }
        }
        drop(inner);
        if changed {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// Sees the number of changes, and every further one.
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
