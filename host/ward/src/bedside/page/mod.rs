//! The bedside in a browser: the page, and the server for it on this machine.
//!
//! ```text
//! page (script) --order--> api --> hub --> worker (device, log)
//!               <-events--        hub <-- news
//! ```
//!
//! The page is a second view of the same [`worker`]: it gives the same orders as the screen and
//! hears the same news. One process owns device and log, because a serial port and a log have one
//! user at a time; so the screen and the page work at once in one program (`--screen`), and any
//! number of tabs beside them.
//!
//! # Access
//! Nobody but the person who sees the printed address gets in ([`guard`]): loopback only, a random
//! address that works once and becomes a cookie, `Host` and `Origin` checked. Other programs of the
//! machine cannot use up the server's connections ([`connections`]).
//!
//! # Outcomes
//! An outcome comes in the body of a POST, goes to the device and is kept nowhere: no answer, event
//! or error repeats it, and the server writes no log of requests.
//!
//! # Once
//! Every form of the page has a random name. An order that arrives again under the same name, by a
//! double click or a broken connection, is not carried out again but gets the first one's answer.

pub mod api;
pub mod connections;
pub mod files;
pub mod guard;
pub mod hub;
mod open;
pub mod server;
mod state;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use guard::Guard;
use hub::Hub;
use server::Site;

use crate::bedside::Bedside;
use crate::bedside::orders::{Given, News, Told};
use crate::bedside::worker;
use crate::failure::Failure;
use crate::records::trial_file::TrialFile;
use equipoise_study::output::say;

/// A view beside the page that runs until the person leaves it, as
/// [`attend`](crate::bedside::screen::run::attend).
pub type Attend = fn(TrialFile, &Sender<Given>, &Receiver<Told>, &str) -> Result<(), Failure>;

/// Where and how the page is served.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Address on this machine; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Whether to open the page in the user's browser.
    pub open: bool,
    /// Shows the screen in this terminal too.
    pub screen: Option<Attend>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 0)), open: false, screen: None }
    }
}

/// An address that only this machine can reach.
///
/// # Errors
/// No address, or one that other machines can reach.
pub fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| "allowed an address and a port, as 127.0.0.1:0".to_owned())?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err("other machines could reach it, and patients' outcomes would cross the network unencrypted; allowed \
         127.0.0.1 or [::1]. To reach the page from another machine use a tunnel: ssh -L PORT:127.0.0.1:PORT HOST"
        .to_owned())
}

/// Serves the page until the program is ended, or the screen is left.
///
/// # Errors
/// The address cannot be used, or the terminal cannot show the screen.
pub fn serve(bedside: Bedside, settings: Settings) -> Result<(), Failure> {
    let unusable =
        |error: std::io::Error| Failure::Usage(format!("listen {}: {error}", settings.listen));
    let listener = TcpListener::bind(settings.listen).map_err(unusable)?;
    listener.set_nonblocking(true).map_err(unusable)?;
    let no_randomness = |error| Failure::Usage(format!("no randomness: {error}"));
    let guard = Guard::new(listener.local_addr().map_err(unusable)?).map_err(no_randomness)?;
    let address = guard.renew().map_err(no_randomness)?;
    let trial = bedside.trial().clone();
    let (orders, given) = channel();
    let (news_to, news) = channel();
    let hub = Arc::new(Hub::new(trial.clone(), orders.clone()));
    let (heard, screen) = (Arc::clone(&hub), settings.screen.is_some());
    let tell = teller(screen.then(|| news_to.clone()));
    std::thread::spawn(move || {
        worker::work(bedside, &given, &mut |told| {
            heard.hear(&told);
            !screen || news_to.send(told).is_ok()
        });
    });
    say(&format!(
        "The bedside is at\n\n  {address}\n\nfor this machine only. The address is a key and works once: show it to nobody. \
         Ctrl-C ends the program; nothing is lost.\n"
    ));
    let link = settings.open.then(|| open::open(&address)).transpose()?;
    let site = Arc::new(Site::new(guard, hub, link, tell));
    let Some(attend) = settings.screen else {
        return server::run(listener, site).map_err(unusable);
    };
    std::thread::spawn(move || server::run(listener, site));
    attend(trial, &orders, &news, &format!("The page is at {address}"))
}

/// Tells the address for the next browser on the screen, or on standard output without one.
fn teller(screen: Option<Sender<Told>>) -> server::Tell {
    // A terminal that is held (Ctrl-S) does not hold the server.
    Box::new(move |address| match &screen {
        Some(screen) => {
            let _ = screen.send(Told { ticket: None, news: News::Entered(address) });
        }
        None => {
            std::thread::spawn(move || {
                say(&format!(
                    "The page was opened with that address, which does not work again. Another browser, or the \
                     same one after it was closed, needs\n\n  {address}\n"
                ));
            });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another address than loopback is refused with the reason and a way that is safe.
    #[test]
    fn only_loopback_is_served() {
        for good in ["127.0.0.1:0", "127.0.0.2:8080", "[::1]:0"] {
            assert!(loopback(good).is_ok(), "{good}");
        }
        for bad in ["0.0.0.0:0", "192.168.1.4:80", "[::]:0", "[::ffff:127.0.0.1]:0"] {
            let why = loopback(bad).unwrap_err();
            assert!(why.contains("unencrypted") && why.contains("ssh -L"), "{bad}: {why}");
        }
        assert!(loopback("localhost:1").unwrap_err().contains("as 127.0.0.1:0"));
    }
}
