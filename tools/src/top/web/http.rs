//! As much of HTTP/1.1 as a page of one's own needs: GET and HEAD, a line of
//! headers after the other, limits on everything. All else gets an answer that
//! says so, and the connection ends.

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
    /// Nothing can come after this: it wants no more, or sends a body, which
    /// nobody reads.
    pub close: bool,
}

/// What has come.
#[derive(Debug, PartialEq)]
pub enum Heard {
    /// A request.
    Request(Request),
    /// Something else; the status that says so.
    Nonsense(u16),
    /// The end of the connection.
    End,
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

/// The next request.
pub fn read(stream: &mut impl Read) -> Heard {
    let mut head = Vec::new();
    let mut byte = [0u8; 1];
    // Browsers send nothing ahead without a body, so a byte at a time costs little.
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            _ if head.len() == HEAD_BYTES => return Heard::Nonsense(431),
            Ok(1) => head.push(byte[0]),
            _ => return Heard::End,
        }
    }
    let request = String::from_utf8(head).ok().and_then(|head| parse(&head));
    request.map_or(Heard::Nonsense(400), Heard::Request)
}

fn parse(head: &str) -> Option<Request> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") {
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
            "content-length" => close |= value != "0",
            "transfer-encoding" => close = true,
            _ => {}
        }
    }
    Some(Request { method: method.to_owned(), target: target.to_owned(), host, origin, close })
}

/// Sends an answer that no other page may use and nobody keeps; to HEAD without
/// its body.
///
/// # Errors
/// What the system says.
pub fn write(stream: &mut impl Write, response: &Response, with_body: bool) -> io::Result<()> {
    let reason = match response.status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed\r\nAllow: GET, HEAD",
        _ => "Request Header Fields Too Large",
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
    let body = if with_body { response.body.as_bytes() } else { &[] };
    stream.write_all(&[head.as_bytes(), body].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(stream: &mut &[u8]) -> Request {
        match read(stream) {
            Heard::Request(request) => request,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_request_is_read_and_one_after_the_other() {
        let mut bytes =
            "GET /a HTTP/1.1\r\nHost: LocalHost:1\r\nOrigin: http://x\r\n\r\nGET /b HTTP/1.0\r\n\r\n"
                .as_bytes();
        let first = request(&mut bytes);
        assert_eq!(
            (first.target.as_str(), first.host.as_deref(), first.close),
            ("/a", Some("localhost:1"), false)
        );
        assert_eq!(first.origin.as_deref(), Some("http://x"));
        let second = request(&mut bytes);
        assert_eq!((second.target.as_str(), second.host, second.close), ("/b", None, true));
        assert_eq!(read(&mut bytes), Heard::End);
    }

    #[test]
    fn a_body_is_not_taken_for_the_next_request() {
        for header in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
            let text = format!("POST / HTTP/1.1\r\n{header}\r\n\r\nhello");
            assert!(request(&mut text.as_bytes()).close, "{header}");
        }
        assert!(!request(&mut "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n".as_bytes()).close);
    }

    #[test]
    fn nonsense_is_refused() {
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(HEAD_BYTES));
        let twice = "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
        for (text, status) in [("GET /\r\n\r\n", 400), (twice, 400), (long.as_str(), 431)] {
            assert_eq!(read(&mut text.as_bytes()), Heard::Nonsense(status));
        }
        assert_eq!(read(&mut "GET /".as_bytes()), Heard::End);
    }

    #[test]
    fn the_answer_to_head_has_no_body_but_its_length() {
        let mut bytes = Vec::new();
        write(&mut bytes, &Response::ok("text/plain", "hello".into()), false).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("Content-Length: 5\r\n") && text.ends_with("\r\n\r\n"));
    }
}
