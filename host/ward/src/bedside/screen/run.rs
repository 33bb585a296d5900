//! The screen in a real terminal: keys and drawing in one thread, device and log in another
//! ([`worker`]).
//!
//! When the screen is left, the program may end while that thread waits for the device: log and
//! device are safe at any moment, and the next start goes on.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ratatui::crossterm::event::{self, Event as Input, KeyEventKind};

use super::view::view;
use super::{Model, News, Order};
use crate::bedside::Bedside;
use crate::bedside::orders::{Given, SCREEN, SILENCE, Told};
use crate::bedside::seats::SCREEN_SEAT;
use crate::bedside::worker;
use crate::failure::Failure;
use crate::records::trial_file::TrialFile;

/// The longest time until news is on the screen.
const FRAME: Duration = Duration::from_millis(50);

/// Shows the screen until the person leaves it.
///
/// # Errors
/// The terminal cannot be used.
pub fn run(bedside: Bedside) -> Result<(), Failure> {
    let trial = bedside.trial().clone();
    let (order_to, orders) = channel();
    let (news_to, news) = channel();
    std::thread::spawn(move || {
        worker::work(bedside, &orders, &mut |told| news_to.send(told).is_ok());
    });
    attend(trial, &order_to, &news, "")
}

/// Shows the screen of a worker that runs already; `greeting` is its first message.
///
/// # Errors
/// The terminal cannot be used.
pub fn attend(
    trial: TrialFile,
    orders: &Sender<Given>,
    news: &Receiver<Told>,
    greeting: &str,
) -> Result<(), Failure> {
    let mut model = Model::new(trial, Timestamp::now(), colour());
    greeting.clone_into(&mut model.message);
    let mut terminal = ratatui::try_init().map_err(unusable)?;
    let shown = show(&mut terminal, &mut model, orders, news);
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

/// An order of the screen, with the PIN that was typed for it.
fn given(model: &mut Model, order: Order) -> Given {
    Given { ticket: SCREEN, seat: SCREEN_SEAT.to_owned(), pin: model.pin.take(), order }
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    model: &mut Model,
    orders: &Sender<Given>,
    news: &Receiver<Told>,
) -> std::io::Result<()> {
    let mut used = Instant::now();
    let mut heard = Instant::now();
    while !model.quit {
        model.now = Timestamp::now();
        for Told { ticket, news } in news.try_iter() {
            heard = Instant::now();
            if ticket.is_none_or(|ticket| ticket == SCREEN) {
                model.news(news);
            } else {
                model.news_of_others(news);
            }
        }
        model.silent = heard.elapsed() >= SILENCE;
        terminal.draw(|frame| view(model, frame))?;
        if !event::poll(FRAME)? {
            continue;
        }
        let Input::Key(key) = event::read()? else { continue };
        if key.kind != KeyEventKind::Press {
            continue;
        }
        // Somebody who types is there, also without an order.
        let often = model.trial.signing.lock_after() / 4;
        if model.staff && !model.is_locked() && used.elapsed() >= often {
            used = Instant::now();
            let _ = orders.send(given(model, Order::Here));
        }
        if let Some(order) = model.key(key)
            && orders.send(given(model, order)).is_err()
        {
            model.news(News::Failed(
                "the thread at the device ended: start the terminal again".to_owned(),
            ));
        }
    }
    Ok(())
}
