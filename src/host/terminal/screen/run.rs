//! The screen in a real terminal: keys and drawing in one thread, device and log in another.
//!
//! The thread at the device asks for the public facts every second and takes orders in between. An
//! enrolment left pending by an unplugged device or an earlier terminal is asked for again before
//! anything else. When the screen is left, the program may end while that thread waits for the
//! device: log and device are safe at any moment, and the next start goes on.

use crate::prelude::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use jiff::Timestamp;
use ratatui::crossterm::event::{self, Event as Input, KeyEventKind};

use super::view::view;
use super::{Model, News, Order};
use crate::host::terminal::bedside::Bedside;
use crate::host::terminal::failure::Failure;
use crate::host::terminal::register::{Patient, Wanted};

/// How often the device is asked for the public facts.
const POLL: Duration = Duration::from_secs(1);
/// How soon news is on the screen.
const FRAME: Duration = Duration::from_millis(50);

/// Shows the screen until the person leaves it.
///
/// # Errors
/// The terminal cannot be used.
pub fn run(bedside: Bedside) -> Result<(), Failure> {
    let mut model = Model::new(bedside.trial().clone(), Timestamp::now(), colour());
    let (order_to, orders) = channel();
    let (news_to, news) = channel();
    std::thread::spawn(move || work(bedside, &orders, &news_to));
    let mut terminal = ratatui::try_init().map_err(unusable)?;
    let shown = show(&mut terminal, &mut model, &order_to, &news);
    ratatui::restore();
    shown.map_err(unusable)
}

fn unusable(error: std::io::Error) -> Failure {
    Failure::Usage(format!("this terminal cannot show the screen: {error}"))
}

/// Colour unless the user asked for none (see no-color.org) or the terminal has none.
fn colour() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR")
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb" && term != "vt100")
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    model: &mut Model,
    orders: &Sender<Order>,
    news: &Receiver<News>,
) -> std::io::Result<()> {
    while !model.quit {
        model.now = Timestamp::now();
        news.try_iter().for_each(|news| model.news(news));
        terminal.draw(|frame| view(model, frame))?;
        if event::poll(FRAME)?
            && let Input::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
            && let Some(order) = model.key(key)
            && orders.send(order).is_err()
        {
            model.news(News::Failed(
                "the thread at the device ended: start the terminal again".to_owned(),
            ));
        }
    }
    Ok(())
}

/// Works at the device until the screen is gone.
pub fn work(mut bedside: Bedside, orders: &Receiver<Order>, news: &Sender<News>) {
    let mut told = None;
    // An enrolment that is confirmed and logged; the device could not be asked yet.
    let mut wanted = None;
    let _ = news.send(News::Operator(bedside.log().operator().to_owned()));
    if let Some(Wanted { code, feature }) = bedside.register().wanted().cloned() {
        let _ = news.send(News::Wanted { code, feature });
    }
    loop {
        let trouble = keep_up(&mut bedside, news);
        // The same trouble is told once, not every second.
        if let Some(fresh) = trouble.as_ref().filter(|_| trouble != told) {
            let _ = news.send(fresh.clone());
        }
        let waiting = bedside.register().waiting().cloned().collect();
        if news.send(News::Waiting(waiting)).is_err() {
            return;
        }
        let retry = if trouble.is_none() { wanted.take() } else { None };
        let next = retry.map_or_else(|| orders.recv_timeout(POLL), Ok);
        told = trouble;
        match next {
            Ok(order) => {
                let answer = carry_out(&mut bedside, &order, news);
                let unsent = matches!(answer, News::Disconnected(_))
                    && bedside.register().pending().is_none();
                wanted = unsent.then_some(order).or(wanted);
                if matches!(answer, News::Disconnected(_)) {
                    told = Some(answer.clone());
                }
                let _ = news.send(answer);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Asks for the facts and for the arm of a pending enrolment; returns what is wrong.
fn keep_up(bedside: &mut Bedside, news: &Sender<News>) -> Option<News> {
    let pending = bedside.register().pending().map(|pending| pending.code.clone());
    if let Some(code) = pending {
        let _ = news.send(News::Pending(code));
    }
    let status = bedside.status();
    if let (Ok(status), Some(port)) = (&status, bedside.client().port()) {
        let _ = news.send(News::Connected(port.to_owned()));
        let _ = news.send(News::Progress(*status));
    }
    match status {
        Ok(_) => {}
        // Another trial's device is as good as none.
        Err(error @ (Failure::NoDevice(_) | Failure::Usage(_))) => {
            return Some(News::Disconnected(error.to_string()));
        }
        Err(other) => return Some(News::Failed(other.to_string())),
    }
    match bedside.resume() {
        Ok(Some(patient)) => {
            let _ = news.send(News::Enrolled(patient));
            bedside.status().ok().map(News::Progress)
        }
        Ok(None) => None,
        Err(Failure::NoDevice(error)) => Some(News::Disconnected(error.to_string())),
        Err(other) => Some(News::Failed(other.to_string())),
    }
}

fn carry_out(bedside: &mut Bedside, order: &Order, news: &Sender<News>) -> News {
    let answer = match order {
        Order::Enrol { code, feature } => enrol(bedside, code, *feature, news).map(News::Enrolled),
        Order::Outcome { number, y } => bedside.outcome(*number, *y).map(News::Recorded),
        Order::Lost { number } => bedside.lost(*number).map(News::Recorded),
        Order::Note { number, kind, text } => {
            let code = bedside.register().code(*number).unwrap_or_default().to_owned();
            bedside.write_note(*number, *kind, text).map(|()| News::Noted(code))
        }
        Order::Find { code } => bedside.find(code).map(News::Found),
        Order::Operator { name } => bedside
            .switch_operator(name)
            .map(|()| News::Operator(bedside.log().operator().to_owned())),
        Order::Drop { .. } => {
            let dropped = bedside.drop_wanted("not confirmed again");
            dropped.map(|()| News::Waiting(bedside.register().waiting().cloned().collect()))
        }
    };
    let number = match order {
        Order::Outcome { number, .. } | Order::Lost { number } => *number,
        _ => 0,
    };
    match answer {
        Ok(news) => news,
        // It is asked again as soon as the device is back.
        Err(Failure::NoDevice(error)) if matches!(order, Order::Enrol { .. }) => {
            News::Disconnected(error.to_string())
        }
        Err(Failure::NoDevice(error)) => {
            let who = bedside.register().code(number).unwrap_or_default();
            News::Failed(format!(
                "Not recorded for patient {who}: {error}. Enter it again when the device is back."
            ))
        }
        Err(other) => News::Failed(other.to_string()),
    }
}

/// Logs the confirmed enrolment, tells the screen so, and asks the device.
fn enrol(
    bedside: &mut Bedside,
    code: &str,
    feature: u8,
    news: &Sender<News>,
) -> Result<Patient, Failure> {
    let wanted = Some(Wanted { code: code.to_owned(), feature });
    if bedside.register().wanted().cloned() != wanted {
        bedside.want(code, feature)?;
    }
    let _ = news.send(News::Pending(code.to_owned()));
    let enrolled = bedside.enrol(code, feature);
    if let Err(Failure::Refused(why) | Failure::Usage(why)) = &enrolled
        && bedside.register().wanted().is_some()
    {
        bedside.drop_wanted(why)?;
    }
    enrolled
}
