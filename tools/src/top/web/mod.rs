//! `--web`: the same as a page for a browser on this machine.
//!
//! Only this machine can connect (127.0.0.1), and only who knows the token in the
//! address gets anything. A page of another origin can neither guess the token
//! nor read an answer; a name that was made to point here is refused by `Host`.
//! The page loads nothing from elsewhere.

mod history;
mod http;

use super::meter::Meter;
use super::options::Options;
use super::{json, watch};
use crate::system::signals::Signals;
use history::History;
use http::{Heard, Request, Response};
use serried_engine::memory::system_calls;
use std::io::Read;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Connections served at a time; more are closed at once.
const CONNECTIONS: usize = 16;

/// How much of a request that is refused is read nevertheless (bytes).
const UNREAD: u64 = 1 << 20;

/// What all connections know.
struct Site {
    port: u16,
    token: String,
    history: Mutex<History>,
    connections: AtomicUsize,
}

/// Serves the page until a signal or the count ends it. The end of the job does
/// not: its last totals stay to be seen.
///
/// # Errors
/// A sentence when the port cannot be had.
pub fn run(meter: Meter, options: &Options, port: u16, signals: &Signals) -> Result<i32, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|cause| match port {
        0 => format!("no port of the loopback can be had: {cause}"),
        _ => format!(
            "port {port} of 127.0.0.1 cannot be had: {cause}; without a number any that is free is taken"
        ),
    })?;
    let port = listener.local_addr().map_err(|cause| cause.to_string())?.port();
    let history = Mutex::new(History::new(options.interval));
    let site = Arc::new(Site { port, token: token()?, history, connections: AtomicUsize::new(0) });
    println!("http://127.0.0.1:{port}/{}/", site.token);
    eprintln!("serried top: open this address in a browser on this machine; Ctrl-C ends");
    let served = Arc::clone(&site);
    std::thread::spawn(move || accept(&listener, &served));
    let mut ended = false;
    let status = watch(meter, options, signals, |report| {
        ended = report.ended;
        site.history().add(report);
        true
    });
    if !ended || status != 0 {
        return Ok(status);
    }
    eprintln!("serried top: the job has ended; the page stays with its last totals until Ctrl-C");
    loop {
        if let Some(signal) = super::wait(signals, Duration::from_secs(3600)) {
            return Ok(128 + signal);
        }
    }
}

/// 128 random bits.
fn token() -> Result<String, String> {
    let mut bytes = [0u8; 16];
    let got = system_calls::random(&mut bytes, 0);
    if got != bytes.len() as isize {
        return Err(format!("the system gives no random numbers: {}", std::io::Error::last_os_error()));
    }
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

fn accept(listener: &TcpListener, site: &Arc<Site>) {
    loop {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(50)); // no descriptors left, say
            continue;
        };
        if site.connections.fetch_add(1, Relaxed) >= CONNECTIONS {
            site.connections.fetch_sub(1, Relaxed);
            continue;
        }
        let site = Arc::clone(site);
        std::thread::spawn(move || {
            serve(stream, &site);
            site.connections.fetch_sub(1, Relaxed);
        });
    }
}

fn serve(mut stream: TcpStream, site: &Site) {
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok();
    stream.set_write_timeout(Some(Duration::from_secs(10))).ok();
    loop {
        let (answer, with_body, close) = match http::read(&mut stream) {
            Heard::Request(request) => (site.answer(&request), request.method != "HEAD", request.close),
            Heard::Nonsense(status) => (Response::refusal(status, "this is no request"), true, true),
            Heard::End => return,
        };
        if http::write(&mut stream, &answer, with_body).is_err() {
            return;
        }
        if close {
            return take_leave(stream);
        }
    }
}

/// Closes a connection. If the request was not read, the system would throw the answer away; so
/// some of it is read.
fn take_leave(stream: TcpStream) {
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok();
    let _ = stream.shutdown(Shutdown::Write);
    let _ = std::io::copy(&mut stream.take(UNREAD), &mut std::io::sink());
}

impl Site {
    fn history(&self) -> std::sync::MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Request) -> Response {
        let names = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        if !names.iter().any(|name| request.host.as_deref() == Some(name)) {
            return Response::refusal(403, "this server answers to 127.0.0.1 only");
        }
        let own = |origin: &String| names.iter().any(|name| *origin == format!("http://{name}"));
        if request.origin.as_ref().is_some_and(|origin| !own(origin)) {
            return Response::refusal(403, "pages of other origins are refused");
        }
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let mut parts = path.splitn(3, '/').skip(1);
        let (token, rest) = (parts.next().unwrap_or_default(), parts.next());
        if !same(token, &self.token) {
            return Response::refusal(
                403,
                "the address needs the token that `serried top --web` has printed",
            );
        }
        if !["GET", "HEAD"].contains(&request.method.as_str()) {
            return Response::refusal(405, "this page can be read (GET, HEAD) and nothing else");
        }
        match rest {
            Some("") => Response::ok("text/html; charset=utf-8", PAGE.to_owned()),
            Some("page.css") => Response::ok("text/css; charset=utf-8", STYLE.to_owned()),
            Some("page.js") => Response::ok("text/javascript; charset=utf-8", SCRIPT.to_owned()),
            Some("data") => {
                let after = query.strip_prefix("after=").and_then(|text| text.parse().ok()).unwrap_or(0);
                Response::ok("application/json", self.data(after))
            }
            _ => Response::refusal(404, "there is no such page"),
        }
    }

    /// The last report, and the points of the timeline after the one given.
    fn data(&self, after: u64) -> String {
        let history = self.history();
        json::Object::default()
            .number("interval", history.interval())
            .with("report", history.last().map_or_else(|| "null".to_owned(), json::report))
            .with("points", json::array(history.after(after).map(history::Point::json)))
            .end()
    }
}

/// Compares in a time that does not tell how much is right.
fn same(given: &str, right: &str) -> bool {
    given.len() == right.len() && given.bytes().zip(right.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        let history = Mutex::new(History::new(1.0));
        Site { port: 8000, token: "abc".into(), history, connections: AtomicUsize::new(0) }
    }

    fn status(host: &str, origin: Option<&str>, target: &str) -> u16 {
        let origin = origin.map(str::to_owned);
        let (method, host) = ("GET".to_owned(), Some(host.to_owned()));
        site().answer(&Request { method, target: target.into(), host, origin, close: false }).status
    }

    #[test]
    fn who_knows_the_token_gets_the_page() {
        for target in ["/abc/", "/abc/page.js", "/abc/page.css", "/abc/data?after=3"] {
            assert_eq!(status("127.0.0.1:8000", None, target), 200, "{target}");
        }
        assert_eq!(status("localhost:8000", Some("http://localhost:8000"), "/abc/data"), 200);
        assert_eq!(status("127.0.0.1:8000", None, "/abc/other"), 404);
    }

    #[test]
    fn the_page_can_be_read_and_nothing_else() {
        let status = |method: &str, target: &str| {
            let host = Some("localhost:8000".to_owned());
            let request =
                Request { method: method.into(), target: target.into(), host, origin: None, close: false };
            site().answer(&request).status
        };
        assert_eq!(
            ["GET", "HEAD", "POST", "OPTIONS", "get"].map(|m| status(m, "/abc/")),
            [200, 200, 405, 405, 405]
        );
        assert_eq!([status("POST", "/"), status("OPTIONS", "*"), status("CONNECT", "a:1")], [403; 3]);
    }

    #[test]
    fn others_get_nothing() {
        for target in ["/", "/abd/", "/ab/", "/abcd/", "/abd/data", ""] {
            assert_eq!(status("127.0.0.1:8000", None, target), 403, "{target}");
        }
        assert_eq!(status("evil.example:8000", None, "/abc/"), 403);
        assert_eq!(status("127.0.0.1:8000", Some("http://evil.example"), "/abc/data"), 403);
        assert_eq!(status("127.0.0.1:8000", Some("null"), "/abc/data"), 403);
    }
}
