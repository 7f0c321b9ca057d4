//! The served paths, and the requests and reports so far.

use std::time::Instant;

use super::address::Address;
use super::answer::Status;
use super::request::Request;

/// The page's report that it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Report {
    /// The browser's time: milliseconds since 1970, if valid. Untrusted.
    pub(crate) shown: Option<f64>,
    /// When the page was first requested.
    pub(super) requested: Instant,
    /// When the report arrived.
    pub(super) arrived: Instant,
}

/// One page and its reports.
#[derive(Debug)]
pub(crate) struct Site {
    authority: String,
    origin: String,
    page: String,
    ready: String,
    requested: Option<Instant>,
    report: Option<Report>,
}

impl Site {
    pub(crate) fn new(address: &Address) -> Self {
        Self {
            authority: address.authority.clone(),
            origin: format!("http://{}", address.authority),
            page: address.directory.clone(),
            ready: format!("{}ready", address.directory),
            requested: None,
            report: None,
        }
    }

    /// The first report.
    pub(crate) fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Whether the page was ever requested.
    pub(super) fn was_asked_for(&self) -> bool {
        self.requested.is_some()
    }

    /// Records a request, and returns the response's status.
    pub(super) fn answer(&mut self, request: &Request<'_>, now: Instant) -> Status {
        if request.host != Some(self.authority.as_bytes()) {
            return Status::Misdirected;
        }
        match request.method {
            _ if request.has_content => Status::ContentTooLarge,
            "GET" | "HEAD" if request.path == self.page => {
                if request.method == "GET" {
                    self.requested.get_or_insert(now);
                }
                Status::Page
            }
            // Another site's page may send it, if it learnt the address, but not under another origin.
            "POST"
                if request.path == self.ready && request.origin.is_none_or(|from| from == self.origin.as_bytes()) =>
            {
                let Some(requested) = self.requested else { return Status::Conflict };
                self.report.get_or_insert(Report { shown: shown(request.query), requested, arrived: now });
                Status::Taken
            }
            _ if request.path == self.page || request.path == self.ready => Status::MethodNotAllowed,
            _ => Status::NotFound,
        }
    }
}

fn shown(query: &str) -> Option<f64> {
    query.split('&').find_map(|pair| pair.strip_prefix("shown="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site::new(&Address { authority: "127.0.0.1:80".into(), directory: "/t/".into() })
    }

    fn request(method: &'static str, target: &'static str) -> Request<'static> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let host = Some(&b"127.0.0.1:80"[..]);
        Request { method, path, query, host, origin: None, has_content: false, is_last: false }
    }

    #[test]
    fn only_the_address_is_served() {
        let mut site = site();
        for (method, target, status) in [
            ("GET", "/", Status::NotFound),
            ("GET", "/favicon.ico", Status::NotFound),
            ("GET", "/t", Status::NotFound),
            ("GET", "/T/", Status::NotFound),
            ("POST", "/u/ready", Status::NotFound),
            ("OPTIONS", "/t/ready", Status::MethodNotAllowed),
            ("GET", "/t/ready", Status::MethodNotAllowed),
            ("POST", "/t/", Status::MethodNotAllowed),
            ("HEAD", "/t/", Status::Page),
            ("POST", "/t/ready", Status::Conflict),
            ("GET", "/t/?a", Status::Page),
        ] {
            assert_eq!(site.answer(&request(method, target), Instant::now()), status, "{method} {target}");
            assert_eq!(site.report(), None);
        }
    }

    #[test]
    fn strangers_are_refused() {
        let mut site = site();
        site.answer(&request("GET", "/t/"), Instant::now());
        let ready = || request("POST", "/t/ready");
        for host in [None, Some(&b"localhost:80"[..]), Some(b"127.0.0.1"), Some(b"evil.example:80")] {
            assert_eq!(site.answer(&Request { host, ..ready() }, Instant::now()), Status::Misdirected);
        }
        let foreign = Request { origin: Some(b"http://evil.example"), ..ready() };
        assert_eq!(site.answer(&foreign, Instant::now()), Status::MethodNotAllowed);
        let content = Request { has_content: true, ..ready() };
        assert_eq!(site.answer(&content, Instant::now()), Status::ContentTooLarge);
        assert_eq!(site.report(), None);
        let own = Request { origin: Some(b"http://127.0.0.1:80"), ..ready() };
        assert_eq!(site.answer(&own, Instant::now()), Status::Taken);
        assert!(site.report().is_some());
    }

    #[test]
    fn the_first_report_counts_and_nonsense_is_none() {
        for (target, shown) in [
            ("/t/ready?shown=1.5", Some(1.5)),
            ("/t/ready?x=1&shown=-2", Some(-2.0)),
            ("/t/ready?shown=", None),
            ("/t/ready?shown=soon", None),
            ("/t/ready", None),
        ] {
            let mut site = site();
            let begin = Instant::now();
            site.answer(&request("GET", "/t/"), begin);
            site.answer(&request("GET", "/t/"), Instant::now());
            site.answer(&request("POST", target), begin);
            assert_eq!(site.answer(&request("POST", "/t/ready?shown=9"), Instant::now()), Status::Taken);
            assert_eq!(site.report(), Some(&Report { shown, requested: begin, arrived: begin }), "{target}");
        }
    }
}
