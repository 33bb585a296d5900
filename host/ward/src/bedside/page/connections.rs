//! The connections of the server: how many there are, and how long each may last.
//!
//! # Guarantees
//! * At most [`MOST`] connections are served at a time, so that other programs of this machine
//!   cannot use up the descriptors that the log and the device need.
//! * A connection without an admitted request makes way for a new one, the one that is silent
//!   longest first. So neither half-sent requests nor idle browsers keep a page out.
//! * When admitted requests hold all of them, the next connection is told so
//!   ([`StatusCode::SERVICE_UNAVAILABLE`]) and closed.
//! * A connection is closed when a request does not arrive within [`Times::head`], also when it
//!   waits for the next request.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use super::guard::Refusal;
use super::server::{Site, answer, refuse};

/// Connections that are served at a time. A browser opens up to six to one server.
pub const MOST: usize = 64;
/// Connections that are being told that there are too many, beside those.
const MOST_REFUSED: usize = 8;
/// How long a connection may take to hear that.
const REFUSED_TIME: Duration = Duration::from_secs(1);
/// The wait after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const FULL: Refusal = Refusal(
    StatusCode::SERVICE_UNAVAILABLE,
    "64 connections to this program are in use, which is the most allowed: close tabs or browsers that \
     are not needed. This page tries again by itself.",
);

/// Time limits of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// From the end of one request, or from the connection, to the end of the next one's head.
    pub head: Duration,
    /// For the body of an order.
    pub body: Duration,
    /// For one stream of events; the page begins another.
    pub events: Duration,
}

impl Default for Times {
    fn default() -> Self {
        let (head, body) = (Duration::from_secs(10), Duration::from_secs(10));
        Self { head, body, events: Duration::from_secs(600) }
    }
}

/// An open connection.
struct Held {
    /// Admitted requests that are being answered.
    requests: usize,
    /// When it was last used, on the clock of [`Table::clock`].
    used: u64,
    task: Option<AbortHandle>,
}

#[derive(Default)]
struct Table {
    /// Counts uses.
    clock: u64,
    held: HashMap<u64, Held>,
}

/// The places of connections.
#[derive(Default)]
struct Places(Mutex<Table>);

impl Places {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a new connection: a free one, or that of the idle connection that was used
    /// longest ago. `None` if all have admitted requests.
    fn take(self: &Arc<Self>) -> Option<Place> {
        let mut table = self.table();
        if table.held.len() >= MOST {
            let idle = table.held.iter().filter(|(_, held)| held.requests == 0);
            let oldest = idle.min_by_key(|(_, held)| held.used).map(|(id, _)| *id)?;
            if let Some(Held { task: Some(task), .. }) = table.held.remove(&oldest) {
                task.abort();
            }
        }
        table.clock += 1;
        let id = table.clock;
        table.held.insert(id, Held { requests: 0, used: id, task: None });
        drop(table);
        Some(Place { places: Arc::clone(self), id })
    }

    /// Remembers how to end the connection at a place, if it is still held.
    fn set_task(&self, id: u64, task: AbortHandle) {
        if let Some(held) = self.table().held.get_mut(&id) {
            held.task = Some(task);
        }
    }
}

/// The place of one connection, free again when this is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    id: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.table().held.remove(&self.id);
    }
}

impl Place {
    /// Keeps the place until the answer to an admitted request is complete.
    pub fn keep(&self) -> Kept {
        if let Some(held) = self.places.table().held.get_mut(&self.id) {
            held.requests += 1;
        }
        Kept { places: Arc::clone(&self.places), id: self.id }
    }
}

/// An admitted request: its connection does not make way for another.
pub(super) struct Kept {
    places: Arc<Places>,
    id: u64,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut table = self.places.table();
        table.clock += 1;
        let now = table.clock;
        if let Some(held) = table.held.get_mut(&self.id) {
            held.requests = held.requests.saturating_sub(1);
            held.used = now;
        }
    }
}

/// Accepts connections until the program ends.
pub(super) async fn accept(listener: TcpListener, site: Arc<Site>) -> Infallible {
    let (places, refused) = (Arc::new(Places::default()), Arc::new(AtomicUsize::new(0)));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The connection is gone already, or the system is short of something.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if let Some(place) = places.take() {
            let id = place.id;
            let task = tokio::spawn(serve(stream, Arc::clone(&site), Some(place)));
            places.set_task(id, task.abort_handle());
        } else if refused.load(Ordering::Relaxed) < MOST_REFUSED {
            refused.fetch_add(1, Ordering::Relaxed);
            let (site, refused) = (Arc::clone(&site), Arc::clone(&refused));
            tokio::spawn(async move {
                let _ = tokio::time::timeout(REFUSED_TIME, serve(stream, site, None)).await;
                refused.fetch_sub(1, Ordering::Relaxed);
            });
        }
        // A connection that made way is closed before the next is accepted.
        tokio::task::yield_now().await;
    }
}

/// Serves one connection; without a place every request is told that there are too many.
async fn serve(stream: TcpStream, site: Arc<Site>, place: Option<Place>) {
    let (times, place) = (site.times(), place.as_ref());
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| {
        let site = Arc::clone(&site);
        async move {
            let Some(place) = place else { return Ok::<_, Infallible>(refuse(FULL)) };
            Ok(answer(&site, place, request.map(axum::body::Body::new)).await)
        }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(times.head).keep_alive(place.is_some());
    // A connection that breaks is of interest to nobody: the page asks again.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}
