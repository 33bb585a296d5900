//! The HTTP server. Every request passes [`answer`], and nothing is served that the guard did not
//! admit.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::Stream;
use futures_util::stream::unfold;
use jiff::Timestamp;

use super::api::{self, MOST_BYTES};
use super::connections::{self, Kept, Place, Times};
use super::guard::{Door, Guard, Refusal};
use super::hub::Hub;
use super::open::Link;
use crate::bedside::orders::SILENCE;

/// How often a page gets a sign of life when nothing changes. It gives up after three times as long
/// without one (`SILENCE` in `page/link.js`).
const BEAT: Duration = Duration::from_secs(10);

/// Nothing from other hosts, nothing inline, no frame around the page, no text taken for markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// Headers of every response.
const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

/// The served site: its guard, its hub and the link that leads to it.
pub struct Site {
    guard: Guard,
    hub: Arc<Hub>,
    /// The file that leads to the page; gone once it was used.
    link: Mutex<Option<Link>>,
    /// Tells the person at the program the address for the next browser.
    tell: Tell,
    times: Times,
}

/// Tells an address to the person at the program.
pub(super) type Tell = Box<dyn Fn(String) + Send + Sync>;

impl Site {
    /// A site that nobody has entered yet.
    pub(super) fn new(guard: Guard, hub: Arc<Hub>, link: Option<Link>, tell: Tell) -> Self {
        Self { guard, hub, link: Mutex::new(link), tell, times: Times::default() }
    }

    /// Lets a browser in: the address is used up, and the next browser needs another.
    fn enter(&self) -> Response {
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Ok(address) = self.guard.renew() {
            (self.tell)(address);
        }
        entrance(&self.guard)
    }

    /// The time limits of its connections.
    pub(super) const fn times(&self) -> Times {
        self.times
    }
}

/// Serves until the program ends.
///
/// # Errors
/// The listener cannot be used.
pub fn run(listener: TcpListener, site: Arc<Site>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        match connections::accept(listener, site).await {}
    })
}

/// Answers a request that came over the connection at this place.
pub(super) async fn answer(site: &Site, place: &Place, request: Request) -> Response {
    let admitted = site.guard.admit(request.method(), request.uri().path(), request.headers());
    let door = match admitted {
        Err(refusal) => return refuse(refusal),
        Ok(door) => door,
    };
    let kept = place.keep();
    guarded(match door {
        Door::Entrance => site.enter(),
        Door::File(file) => typed(file.kind, file.text.to_owned()),
        Door::Events => {
            let seat = seat(request.uri().query());
            Sse::new(events(Arc::clone(&site.hub), seat, kept, site.times.events)).into_response()
        }
        Door::Order => order(&site.hub, request.into_body(), site.times.body).await,
    })
}

/// The seat of a page, from the query `seat=NAME`.
fn seat(query: Option<&str>) -> String {
    query.and_then(|query| query.strip_prefix("seat=")).unwrap_or_default().to_owned()
}

/// Says why a request is refused.
pub(super) fn refuse(Refusal(status, why): Refusal) -> Response {
    guarded((status, why).into_response())
}

/// Adds the headers of every response.
fn guarded(mut response: Response) -> Response {
    let head = response.headers_mut();
    for (name, value) in HEADERS {
        head.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    head.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn typed(kind: &'static str, body: String) -> Response {
    ([(CONTENT_TYPE, kind)], body).into_response()
}

/// Sets the cookie and goes on to the page. A page and not a redirection: after a redirection from
/// another site the browser would withhold the cookie.
fn entrance(guard: &Guard) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>equipoise</title>\
         <meta http-equiv=\"refresh\" content=\"0; url={0}\"><p><a href=\"{0}\">Go on</a></p></html>\n",
        guard.folder()
    );
    let mut response = typed("text/html; charset=utf-8", page);
    if let Ok(cookie) = guard.set_cookie().parse() {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

async fn order(hub: &Hub, body: Body, time: Duration) -> Response {
    // What is wrong with a body is not said in detail: the detail could repeat an outcome.
    let body = match tokio::time::timeout(time, to_bytes(body, MOST_BYTES)).await {
        Err(_) => {
            return (StatusCode::REQUEST_TIMEOUT, "The order did not arrive.").into_response();
        }
        Ok(Err(_)) => {
            return (StatusCode::PAYLOAD_TOO_LARGE, "The order is too long.").into_response();
        }
        Ok(Ok(body)) => body,
    };
    match api::answer(hub, &body).await {
        Some(answer) => typed("application/json", answer),
        None => (StatusCode::BAD_REQUEST, "This is no order.").into_response(),
    }
}

/// The state at once and after every change; every [`BEAT`] without one, the time. After `time` it
/// asks the page to begin anew and ends, so that a page that sleeps does not keep its place.
fn events(
    hub: Arc<Hub>,
    seat: String,
    kept: Kept,
    time: Duration,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let (changes, end) = (hub.changes(), tokio::time::Instant::now() + time);
    unfold(
        (hub, changes, (seat, None::<String>), Some(kept)),
        move |(hub, mut changes, (seat, told), kept)| async move {
            kept.as_ref()?;
            let beat = tokio::time::Instant::now() + BEAT;
            loop {
                changes.mark_unchanged();
                let text = hub.text(&seat);
                if told.as_ref() != Some(&text) {
                    let data = format!("{{\"now\":\"{}\",\"state\":{text}}}", Timestamp::now());
                    let event = Event::default().event("state").data(data);
                    return Some((Ok(event), (hub, changes, (seat, Some(text)), kept)));
                }
                let now = tokio::time::Instant::now();
                if now >= end {
                    return Some((
                        Ok(Event::default().event("again").data(Timestamp::now().to_string())),
                        (hub, changes, (seat, told), None),
                    ));
                }
                let wait = SILENCE.min(beat.saturating_duration_since(now)).min(end - now);
                match tokio::time::timeout(wait, changes.changed()).await {
                    // The state may have changed, or only an answer has come.
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return None,
                    // A silent device changes the state without news.
                    Err(_) if tokio::time::Instant::now() < beat => {}
                    Err(_) => {
                        let event =
                            Event::default().event("beat").data(Timestamp::now().to_string());
                        return Some((Ok(event), (hub, changes, (seat, told), kept)));
                    }
                }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::trial_file::TrialFile;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::mpsc::channel;

    /// A stream of events ends after its time with the request to begin anew, and its connection
    /// with it: a page that sleeps does not keep its place.
    #[test]
    fn streams_end_and_say_so() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let guard = Guard::new(address).unwrap();
        let (cookie, folder) = (guard.set_cookie(), guard.folder());
        let hub = Arc::new(Hub::new(TrialFile::example().unwrap(), channel().0));
        let mut site = Site::new(guard, hub, None, Box::new(drop));
        let time = Duration::from_millis(200);
        site.times = Times { head: time, body: time, events: time };
        std::thread::spawn(move || run(listener, Arc::new(site)));
        let mut page = TcpStream::connect(address).unwrap();
        page.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let cookie = cookie.split(';').next().unwrap();
        let request =
            format!("GET {folder}events HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n");
        page.write_all(request.as_bytes()).unwrap();
        let mut heard = String::new();
        page.read_to_string(&mut heard).unwrap();
        let (state, again) = (heard.find("event: state"), heard.find("event: again"));
        assert!(state.is_some() && state < again, "{heard}");
    }
}
