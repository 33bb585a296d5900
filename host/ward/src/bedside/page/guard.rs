//! Which requests are admitted.
//!
//! | check | against |
//! |---|---|
//! | the server listens on loopback | other machines |
//! | the printed address holds 128 random bits, the cookie 128 others | other users and programs of this machine |
//! | the printed address works once | an address that stays in a history, a mail or a terminal |
//! | the cookie is `HttpOnly`, `SameSite=Strict` | scripts, and requests begun by another site |
//! | the cookie's path is random | servers of other users on other ports, to which a browser sends cookies too |
//! | `Host` must be the address served | DNS rebinding |
//! | `Origin` and `Sec-Fetch-Site` must be this page's | requests sent by other pages |
//! | an order must be JSON | forms of other pages |
//!
//! All checks come before a request is looked at any further. The cookie lasts as long as the
//! program runs; the address until it is opened, and then there is a new one for the next browser
//! ([`Guard::renew`]).

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::header::{CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode};

use super::files::{FILES, File};
use equipoise::wire::Hex;

/// Bytes of a secret.
const SECRET: usize = 16;

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub StatusCode, pub &'static str);

/// Kind of an admitted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The printed address: the browser gets its cookie.
    Entrance,
    /// A file of the page.
    File(&'static File),
    /// News, for as long as the page listens.
    Events,
    /// An order.
    Order,
}

/// The secrets of a running server.
#[derive(Debug)]
pub struct Guard {
    listen: SocketAddr,
    /// The token of the printed address, until it is used.
    token: Mutex<Option<String>>,
    cookie: String,
    folder: String,
}

impl Guard {
    /// New secrets for a server at this address.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn new(listen: SocketAddr) -> Result<Self, getrandom::Error> {
        Ok(Self { listen, token: Mutex::new(None), cookie: secret()?, folder: secret()? })
    }

    /// A new address to print; no other works from now on.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn renew(&self) -> Result<String, getrandom::Error> {
        let token = secret()?;
        let address = format!("http://{}/open/{token}", self.listen);
        *self.token() = Some(token);
        Ok(address)
    }

    fn token(&self) -> MutexGuard<'_, Option<String>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses the token up, if it is the right one.
    fn spend(&self, token: &str) -> bool {
        let mut right = self.token();
        let is_right = right.as_ref().is_some_and(|right| same(token, right));
        if is_right {
            *right = None;
        }
        is_right
    }

    /// The folder of the page, with slashes around it.
    #[must_use]
    pub fn folder(&self) -> String {
        format!("/{}/", self.folder)
    }

    /// The cookie as it is set. It ends with the browser's session.
    #[must_use]
    pub fn set_cookie(&self) -> String {
        let (name, path) = (self.cookie_name(), self.folder());
        format!("{name}={}; Path={path}; HttpOnly; SameSite=Strict", self.cookie)
    }

    /// Cookies of a host are shared by its ports, so the name holds the port.
    fn cookie_name(&self) -> String {
        format!("equipoise-{}", self.listen.port())
    }

    /// Checks a request.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn admit(&self, method: &Method, path: &str, head: &HeaderMap) -> Result<Door, Refusal> {
        let host = text(head, HOST).ok_or(FOREIGN_HOST)?;
        let port = self.listen.port();
        if host != self.listen.to_string() && host != format!("localhost:{port}") {
            return Err(FOREIGN_HOST);
        }
        if let Some(token) = path.strip_prefix("/open/") {
            // The token is enough, wherever the request comes from: the link may be opened from a
            // mail or by another program.
            return match *method {
                // A browser may fetch an address before its user opens it, and throw the answer
                // away.
                Method::GET if is_prefetch(head) => Err(PREFETCH),
                Method::GET if self.spend(token) => Ok(Door::Entrance),
                Method::GET => Err(WRONG_TOKEN),
                _ => Err(METHOD),
            };
        }
        let origin = text(head, ORIGIN);
        let ours = format!("http://{host}");
        if head.contains_key(ORIGIN) && origin != Some(&ours) {
            return Err(FOREIGN_PAGE);
        }
        // Old browsers send no such header.
        let site = text(head, "sec-fetch-site").unwrap_or("none");
        if site != "same-origin" && site != "none" {
            return Err(FOREIGN_PAGE);
        }
        let name = self.cookie_name();
        let mut cookies = head.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let known = cookies.any(|line| {
            line.split("; ").filter_map(|pair| pair.split_once('=')).any(|(key, value)| {
                // The whole value is compared, in constant time.
                key == name && same(value, &self.cookie)
            })
        });
        if !known {
            return Err(NO_COOKIE);
        }
        let file = path.strip_prefix(&self.folder()).ok_or(NOTHING_HERE)?;
        match (method.as_str(), file) {
            ("GET", "events") => Ok(Door::Events),
            ("POST", "order") if origin.is_none() => Err(FOREIGN_PAGE),
            ("POST", "order") if text(head, CONTENT_TYPE) != Some("application/json") => {
                Err(NOT_JSON)
            }
            ("POST", "order") => Ok(Door::Order),
            ("GET", "order") => Err(METHOD),
            ("GET", name) => {
                let found = FILES.iter().find(|file| file.name == name);
                found.map(Door::File).ok_or(NOTHING_HERE)
            }
            _ => Err(METHOD),
        }
    }
}

const FOREIGN_HOST: Refusal = Refusal(
    StatusCode::MISDIRECTED_REQUEST,
    "This address is not the one that the program printed: use that one.",
);
const FOREIGN_PAGE: Refusal =
    Refusal(StatusCode::FORBIDDEN, "This request came from another page, or from no page.");
const WRONG_TOKEN: Refusal = Refusal(
    StatusCode::FORBIDDEN,
    "This address was opened before, is of an earlier run, or is mistyped. Open the address that the program \
     printed last: each works once.",
);
const PREFETCH: Refusal =
    Refusal(StatusCode::SERVICE_UNAVAILABLE, "This address works once, so it is not prefetched.");
const NO_COOKIE: Refusal = Refusal(
    StatusCode::FORBIDDEN,
    "This browser has no key. Open the address that the program printed last.",
);
const NOTHING_HERE: Refusal = Refusal(StatusCode::NOT_FOUND, "There is nothing at this address.");
const METHOD: Refusal =
    Refusal(StatusCode::METHOD_NOT_ALLOWED, "This address takes another kind of request.");
const NOT_JSON: Refusal =
    Refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, "An order must be application/json.");

fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; SECRET];
    getrandom::fill(&mut bytes)?;
    Ok(Hex(&bytes).to_string())
}

/// The value of a header that is there once and is text.
fn text(head: &HeaderMap, name: impl axum::http::header::AsHeaderName) -> Option<&str> {
    let mut values = head.get_all(name).iter();
    let value = values.next()?.to_str().ok();
    if values.next().is_some() { None } else { value }
}

/// Whether a browser asks ahead of its user.
fn is_prefetch(head: &HeaderMap) -> bool {
    ["sec-purpose", "purpose", "x-moz"].iter().any(|name| {
        head.get_all(*name).iter().any(|value| value.as_bytes().starts_with(b"prefetch"))
    })
}

/// Compares two secrets in a time that does not depend on where they differ.
fn same(one: &str, other: &str) -> bool {
    let bits = one.bytes().zip(other.bytes()).fold(0, |bits, (a, b)| bits | (a ^ b));
    one.len() == other.len() && core::hint::black_box(bits) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new("127.0.0.1:4711".parse().unwrap()).unwrap()
    }

    fn head(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (axum::http::HeaderName::from_static(name), value.parse().unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    /// A request of the page with one header changed or left out.
    fn order(guard: &Guard, name: &'static str, value: Option<&str>) -> Result<Door, Refusal> {
        let cookie = format!("a=b; equipoise-4711={}", guard.cookie);
        let mut pairs = vec![
            ("host", "127.0.0.1:4711"),
            ("origin", "http://127.0.0.1:4711"),
            ("sec-fetch-site", "same-origin"),
            ("content-type", "application/json"),
            ("cookie", cookie.as_str()),
        ];
        pairs.retain(|(key, _)| *key != name);
        pairs.extend(value.map(|value| (name, value)));
        guard.admit(&Method::POST, &format!("{}order", guard.folder()), &head(&pairs))
    }

    /// Every header that an attacker cannot forge from another page is needed as it is.
    #[test]
    fn orders_need_every_header() {
        let guard = guard();
        assert_eq!(order(&guard, "x-nothing", None), Ok(Door::Order));
        assert_eq!(order(&guard, "sec-fetch-site", None), Ok(Door::Order), "old browsers");
        let long = format!("equipoise-4711={}0", guard.cookie);
        let short = format!("equipoise-4711={}", &guard.cookie[1..]);
        for (name, value, refusal) in [
            ("host", None, FOREIGN_HOST),
            ("host", Some("evil.example:4711"), FOREIGN_HOST),
            ("host", Some("127.0.0.1:4712"), FOREIGN_HOST),
            ("host", Some("127.0.0.1"), FOREIGN_HOST),
            ("origin", None, FOREIGN_PAGE),
            ("origin", Some("null"), FOREIGN_PAGE),
            ("origin", Some("http://evil.example"), FOREIGN_PAGE),
            ("origin", Some("http://127.0.0.1:8080"), FOREIGN_PAGE),
            ("origin", Some("https://127.0.0.1:4711"), FOREIGN_PAGE),
            ("sec-fetch-site", Some("cross-site"), FOREIGN_PAGE),
            ("sec-fetch-site", Some("same-site"), FOREIGN_PAGE),
            ("content-type", None, NOT_JSON),
            ("content-type", Some("text/plain"), NOT_JSON),
            ("content-type", Some("application/x-www-form-urlencoded"), NOT_JSON),
            ("cookie", None, NO_COOKIE),
            ("cookie", Some(""), NO_COOKIE),
            ("cookie", Some("equipoise-4711="), NO_COOKIE),
            ("cookie", Some(long.as_str()), NO_COOKIE),
            ("cookie", Some(short.as_str()), NO_COOKIE),
        ] {
            assert_eq!(order(&guard, name, value), Err(refusal), "{name}: {value:?}");
        }
    }

    /// The token gives access to the entry page only, and neither token nor folder replaces the
    /// cookie.
    #[test]
    fn token_and_cookie_are_apart() {
        let guard = guard();
        let address = guard.renew().unwrap();
        let token = address.rsplit('/').next().unwrap();
        let get = |path: &str, cookie: &str| {
            let cookie = format!("equipoise-4711={cookie}");
            guard.admit(
                &Method::GET,
                path,
                &head(&[("host", "localhost:4711"), ("cookie", &cookie)]),
            )
        };
        assert_eq!(get(&format!("/open/{}", guard.cookie), ""), Err(WRONG_TOKEN));
        assert_eq!(get("/open/", ""), Err(WRONG_TOKEN));
        assert_eq!(get(&guard.folder(), token), Err(NO_COOKIE));
        assert_eq!(get(&format!("/open/{token}"), ""), Ok(Door::Entrance));
        assert_eq!(get(&guard.folder(), &guard.cookie), Ok(Door::File(&FILES[0])));
        assert_eq!(get("/", &guard.cookie), Err(NOTHING_HERE));
        assert_eq!(get(&format!("{}../x", guard.folder()), &guard.cookie), Err(NOTHING_HERE));
        assert_eq!(get(&format!("{}order", guard.folder()), &guard.cookie), Err(METHOD));
        let other = Guard::new(guard.listen).unwrap();
        assert!(other.renew().unwrap() != address && other.cookie != guard.cookie);
    }

    /// An address works once, and only for a request that its user made; then the next one does.
    #[test]
    fn an_address_is_used_up() {
        let guard = guard();
        let open = |address: &str, more: &[(&'static str, &str)]| {
            let path = address.strip_prefix("http://127.0.0.1:4711").unwrap();
            let pairs = [&[("host", "127.0.0.1:4711")], more].concat();
            guard.admit(&Method::GET, path, &head(&pairs))
        };
        let first = guard.renew().unwrap();
        for ahead in [("sec-purpose", "prefetch;prerender"), ("purpose", "prefetch")] {
            assert_eq!(open(&first, &[ahead]), Err(PREFETCH));
        }
        assert_eq!(open(&first, &[]), Ok(Door::Entrance));
        assert_eq!(open(&first, &[]), Err(WRONG_TOKEN));
        let second = guard.renew().unwrap();
        assert_eq!(open(&first, &[]), Err(WRONG_TOKEN));
        assert_eq!(open(&second, &[]), Ok(Door::Entrance));
    }
}
