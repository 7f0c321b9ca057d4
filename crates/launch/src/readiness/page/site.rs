//! The page, and the requests and reports so far.

use std::sync::Arc;
use std::time::Instant;

use coldstart_http::{Request, Site, Status};

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

/// The page and its reports.
#[derive(Debug, Default)]
pub(crate) struct ReadySite {
    requested: Option<Instant>,
    report: Option<Report>,
}

impl ReadySite {
    /// The first report.
    pub(crate) fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Whether the page was ever requested.
    pub(super) fn was_asked_for(&self) -> bool {
        self.requested.is_some()
    }
}

impl Site for ReadySite {
    /// The report should not have to wait for a new connection.
    const IS_PERSISTENT: bool = true;
    const FIELDS: &'static [(&'static str, &'static str)] = &[];

    fn page(&self) -> Arc<[u8]> {
        include_bytes!("page.html").as_slice().into()
    }

    fn answer(&mut self, request: &Request<'_>, now: Instant) -> Status {
        let (path, query) = request.target.split_once('?').unwrap_or((request.target, ""));
        match (request.method, path) {
            _ if request.has_content => Status::ContentTooLarge,
            ("GET", "") => {
                self.requested.get_or_insert(now);
                Status::Page
            }
            ("HEAD", "") => Status::Page,
            // Another site's page may send it, if it learnt the address, but not under another origin.
            ("POST", "ready") if request.is_same_origin() => {
                let Some(requested) = self.requested else { return Status::Conflict };
                self.report.get_or_insert(Report { shown: shown(query), requested, arrived: now });
                Status::Taken
            }
            (_, "") => Status::MethodNotAllowed("GET, HEAD"),
            (_, "ready") => Status::MethodNotAllowed("POST"),
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

    const REFUSED: Status = Status::MethodNotAllowed("POST");

    fn request(method: &'static str, target: &'static str) -> Request<'static> {
        let host = Some(&b"127.0.0.1:80"[..]);
        Request { method, target, host, origin: None, has_content: false, is_last: false }
    }

    #[test]
    fn the_page_and_its_report_are_served() {
        let mut site = ReadySite::default();
        for (method, target, status) in [
            ("GET", "favicon.ico", Status::NotFound),
            ("OPTIONS", "ready", REFUSED),
            ("GET", "ready", REFUSED),
            ("POST", "", Status::MethodNotAllowed("GET, HEAD")),
            ("HEAD", "", Status::Page),
            ("POST", "ready", Status::Conflict),
            ("GET", "?a", Status::Page),
        ] {
            assert_eq!(site.answer(&request(method, target), Instant::now()), status, "{method} {target}");
            assert_eq!(site.report(), None);
        }
    }

    #[test]
    fn other_sites_and_content_are_refused() {
        let mut site = ReadySite::default();
        site.answer(&request("GET", ""), Instant::now());
        let ready = || request("POST", "ready");
        let foreign = Request { origin: Some(b"http://evil.example"), ..ready() };
        assert_eq!(site.answer(&foreign, Instant::now()), REFUSED);
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
            ("ready?shown=1.5", Some(1.5)),
            ("ready?x=1&shown=-2", Some(-2.0)),
            ("ready?shown=", None),
            ("ready?shown=soon", None),
            ("ready", None),
        ] {
            let mut site = ReadySite::default();
            let begin = Instant::now();
            site.answer(&request("GET", ""), begin);
            site.answer(&request("GET", ""), Instant::now());
            site.answer(&request("POST", target), begin);
            assert_eq!(site.answer(&request("POST", "ready?shown=9"), Instant::now()), Status::Taken);
            assert_eq!(site.report(), Some(&Report { shown, requested: begin, arrived: begin }), "{target}");
        }
    }
}
