//! `--open`: who gets the page, and who does not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{Place, command, text};

/// A page that is being served; ended with the test.
struct Serving {
    child: Child,
    /// `127.0.0.1:PORT`.
    host: String,
    /// `/WORD/`.
    place: String,
}

impl Serving {
    fn begin(folder: &Place, words: &[&str]) -> Self {
        let mut command = command(folder.folder.path());
        let mut child = command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim().strip_prefix("http://").unwrap_or_else(|| panic!("{line}")).to_owned();
        let (host, place) = rest.split_once('/').unwrap();
        Self { child, host: host.to_owned(), place: format!("/{place}") }
    }

    /// Status, headers in small letters, and body.
    fn ask(&self, method: &str, place: &str, headers: &str) -> (u16, String, Vec<u8>) {
        self.send(format!("{method} {place} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").as_bytes())
    }

    /// What is answered to some bytes, after which more may come.
    fn send(&self, bytes: &[u8]) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_else(|| panic!("{}", text(&answer)));
        let head = text(&answer[..end]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head, answer[end + 4..].to_vec())
    }

    fn host_header(&self) -> String {
        format!("Host: {}\r\n", self.host)
    }

    /// Ends it as Ctrl-C does; exit code and what it said.
    fn end(mut self) -> (Option<i32>, String) {
        // Not SIGINT, which is ignored, and stays so, where tests run in the background of a shell.
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_is_for_who_knows_the_address() {
    let place = Place::new();
    let serving = Serving::begin(&place, &["app.coldtrace", "--open"]);
    let host = serving.host_header();
    place.done(&["app.coldtrace", "-o", "a.html"]);
    let (status, head, body) = serving.ask("GET", &serving.place, &host);
    assert_eq!(status, 200, "{head}");
    assert!(body == place.read("a.html"));
    for header in
        ["content-type: text/html; charset=utf-8", "x-content-type-options: nosniff", "cache-control: no-store"]
    {
        assert!(head.contains(header), "{head}");
    }
    assert!(!head.contains("access-control-allow"), "{head}");
    let (status, head, body) = serving.ask("HEAD", &serving.place, &host);
    assert_eq!((status, body.len()), (200, 0), "{head}");
    let port = serving.host.split_once(':').unwrap().1;
    for name in ["localhost", "LOCALHOST"] {
        assert_eq!(serving.ask("GET", &serving.place, &format!("HOST: {name}:{port}\r\n")).0, 200, "{name}");
    }
    // The word of the address.
    assert_eq!(serving.place.len(), 34);
    let wrong = format!("/{}/", "0".repeat(32));
    for place in [
        "/",
        "/favicon.ico",
        &wrong,
        &serving.place[..33],
        &format!("{}x", serving.place),
        &format!("{}?a", serving.place),
    ] {
        assert_eq!(serving.ask("GET", place, &host).0, 404, "{place}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"] {
        let (status, head, body) = serving.ask(method, &serving.place, &host);
        assert!(status >= 400 && !text(&body).contains("coldstart-data"), "{method}: {head}");
    }
    assert_eq!(serving.ask("POST", &serving.place, &host).0, 405);
    let (code, said) = serving.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no browser could be opened"), "{said}");
}

#[test]
fn other_hosts_names_are_refused() {
    let place = Place::new();
    let serving = Serving::begin(&place, &["app.coldtrace", "--open"]);
    let port = serving.host.split_once(':').unwrap().1.to_owned();
    let right = serving.host_header();
    for headers in [
        String::new(),
        "Host: evil.example\r\n".to_owned(),
        format!("Host: evil.example:{port}\r\n"),
        "Host: 127.0.0.1\r\n".to_owned(),
        format!("Host: 127.0.0.1:{port}.evil.example\r\n"),
        format!("{right}Host: evil.example\r\n"),
    ] {
        let (status, head, body) = serving.ask("GET", &serving.place, &headers);
        assert_eq!(status, 421, "{headers}{head}");
        assert!(!text(&body).contains("coldstart"), "{headers}");
    }
    assert_eq!(serving.ask("GET", &serving.place, &right).0, 200);
}

#[test]
fn it_listens_on_this_machine_alone_and_a_silent_visitor_does_not_hold_it() {
    let place = Place::new();
    let serving = Serving::begin(&place, &["app.coldtrace", "--open"]);
    assert!(serving.host.starts_with("127.0.0.1:"), "{}", serving.host);
    // Asks and never reads.
    let mut silent = TcpStream::connect(&serving.host).unwrap();
    write!(silent, "GET {} HTTP/1.1\r\n{}\r\n", serving.place, serving.host_header()).unwrap();
    let _half = TcpStream::connect(&serving.host).unwrap();
    assert_eq!(serving.ask("GET", &serving.place, &serving.host_header()).0, 200);
    assert_eq!(serving.end().0, Some(0));
}

#[test]
fn the_length_that_a_request_tells_is_not_believed() {
    let place = Place::new();
    let serving = Serving::begin(&place, &["app.coldtrace", "--open"]);
    let host = serving.host_header();
    for length in ["9000000000000000000", "18446744073709551616", "-1"] {
        for (method, of_page, elsewhere) in [("GET", 200, 404), ("POST", 405, 404)] {
            let fields = format!("{host}Content-Length: {length}\r\n");
            assert_eq!(serving.ask(method, "/", &fields).0, elsewhere, "{method} {length}");
            assert_eq!(serving.ask(method, &serving.place, &fields).0, of_page, "{method} {length}");
        }
        assert_eq!(serving.ask("POST", "/", &format!("Content-Length: {length}\r\n")).0, 421, "{length}");
    }
    let chunked = format!("{host}Transfer-Encoding: chunked\r\n");
    assert_eq!(serving.ask("POST", &serving.place, &chunked).0, 405);
    assert_eq!(serving.ask("GET", &serving.place, &host).0, 200);
    assert_eq!(serving.end().0, Some(0));
}

#[test]
fn bodies_and_overlong_heads_get_their_refusal_and_not_a_reset() {
    let place = Place::new();
    let serving = Serving::begin(&place, &["app.coldtrace", "--open"]);
    let host = serving.host_header();
    let body = "b".repeat(100 * 1024);
    let post = format!("POST {} HTTP/1.1\r\n{host}Content-Length: {}\r\n\r\n{body}", serving.place, body.len());
    assert_eq!(serving.send(post.as_bytes()).0, 405);
    let long = format!("GET {} HTTP/1.1\r\n{host}Cookie: {body}\r\n\r\n", serving.place);
    assert_eq!(serving.send(long.as_bytes()).0, 431);
    // Without any line's end.
    assert_eq!(serving.send(format!("GET /{body}").as_bytes()).0, 431);
    for wrong in [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        assert_eq!(serving.send(wrong).0, 400, "{}", wrong.escape_ascii());
    }
    // A head may come in pieces.
    let mut stream = TcpStream::connect(&serving.host).unwrap();
    stream.set_nodelay(true).unwrap();
    format!("HEAD {} HTTP/1.1\r\n{host}\r\n", serving.place)
        .bytes()
        .for_each(|byte| stream.write_all(&[byte]).unwrap());
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("\r\n\r\n"), "{answer}");
    // One answer a connection: of a second request nothing is read.
    let twice = format!("GET / HTTP/1.1\r\n{host}\r\n").repeat(2);
    let (status, head, body) = serving.send(twice.as_bytes());
    assert_eq!((status, text(&body).as_str()), (404, "no page here\n"), "{head}");
    assert!(head.contains("connection: close"), "{head}");
    assert_eq!(serving.ask("GET", &serving.place, &host).0, 200);
}

#[test]
fn silent_visitors_hinder_nobody() {
    let place = Place::new();
    let serving = Serving::begin(&place, &["app.coldtrace", "--open"]);
    let host = serving.host_header();
    let connect = |_| TcpStream::connect(&serving.host).unwrap();
    let _silent: Vec<TcpStream> = (0..10).map(connect).collect();
    let begun: Vec<TcpStream> = (0..10).map(connect).collect();
    begun.iter().for_each(|mut stream| stream.write_all(b"GET ").unwrap());
    assert_eq!(serving.ask("GET", &serving.place, &host).0, 200);
    assert_eq!(serving.end().0, Some(0));
}

#[test]
fn a_crowd_makes_room_for_who_comes_next() {
    let place = Place::new();
    let serving = Serving::begin(&place, &["app.coldtrace", "--open"]);
    let mut crowd: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&serving.host).unwrap()).collect();
    let first = crowd.first_mut().unwrap();
    first.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(first.read(&mut [0; 1]).unwrap(), 0, "closed without an answer");
    assert_eq!(serving.ask("GET", &serving.place, &serving.host_header()).0, 200);
    assert_eq!(serving.end().0, Some(0));
}
