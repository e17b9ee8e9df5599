//! As much of HTTP/1.1 as a page of one's own needs: GET, no bodies, a line of
//! headers after the other, limits on everything.

use std::io::{self, Read, Write};

/// A longer head of a request is refused.
const HEAD_BYTES: usize = 16 << 10;

/// What a browser asks.
#[derive(Debug, PartialEq)]
pub struct Request {
    /// `GET` …
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The name by which it has found us.
    pub host: Option<String>,
    /// The page that asks, if a script does.
    pub origin: Option<String>,
    /// It wants no more after this.
    pub close: bool,
}

/// What it gets.
#[derive(Debug)]
pub struct Response {
    /// 200 …
    pub status: u16,
    kind: &'static str,
    body: String,
}

impl Response {
    /// All is well.
    pub fn ok(kind: &'static str, body: String) -> Response {
        Response { status: 200, kind, body }
    }

    /// Nothing but a sentence.
    pub fn refusal(status: u16, sentence: &str) -> Response {
        Response { status, kind: "text/plain; charset=utf-8", body: format!("{sentence}\n") }
    }
}

/// The next request; `None` at the end of the connection, or when it makes no sense.
pub fn read(stream: &mut impl Read) -> Option<Request> {
    let mut head = Vec::new();
    let mut byte = [0u8; 1];
    // Browsers send nothing ahead without a body, so a byte at a time costs little.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == HEAD_BYTES || stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    parse(&String::from_utf8(head).ok()?)
}

fn parse(head: &str) -> Option<Request> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") || !target.starts_with('/') {
        return None;
    }
    let (mut host, mut origin, mut close) = (None, None, version == "HTTP/1.0");
    for line in lines.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            // Two of them are an attempt to be two things.
            "host" if host.replace(value.to_ascii_lowercase()).is_some() => return None,
            "origin" => origin = Some(value.to_ascii_lowercase()),
            "connection" => close |= value.eq_ignore_ascii_case("close"),
            "content-length" if value != "0" => return None,
            "transfer-encoding" => return None,
            _ => {}
        }
    }
    Some(Request { method: method.to_owned(), target: target.to_owned(), host, origin, close })
}

/// Sends an answer that no other page may use and nobody keeps.
///
/// # Errors
/// What the system says.
pub fn write(stream: &mut impl Write, response: &Response) -> io::Result<()> {
    let reason = match response.status {
        200 => "OK",
        403 => "Forbidden",
        404 => "Not Found",
        _ => "Method Not Allowed",
    };
    let head = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\r\n",
        response.status,
        response.kind,
        response.body.len()
    );
    stream.write_all(&[head.as_bytes(), response.body.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_and_one_after_the_other() {
        let mut bytes =
            "GET /a HTTP/1.1\r\nHost: LocalHost:1\r\nOrigin: http://x\r\n\r\nGET /b HTTP/1.0\r\n\r\n"
                .as_bytes();
        let first = read(&mut bytes).unwrap();
        assert_eq!(
            (first.target.as_str(), first.host.as_deref(), first.close),
            ("/a", Some("localhost:1"), false)
        );
        assert_eq!(first.origin.as_deref(), Some("http://x"));
        let second = read(&mut bytes).unwrap();
        assert_eq!((second.target.as_str(), second.host, second.close), ("/b", None, true));
        assert_eq!(read(&mut bytes), None);
    }

    #[test]
    fn nonsense_is_refused() {
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(HEAD_BYTES));
        for text in [
            "GET /",
            "GET http://x/ HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
            long.as_str(),
        ] {
            assert_eq!(read(&mut text.as_bytes()), None);
        }
    }
}
