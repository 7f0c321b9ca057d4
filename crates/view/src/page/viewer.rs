//! The viewer: the script and the stylesheet that are in every page.

use serde::Serialize;

use super::head::PageHead;
use super::shell::Shell;
use super::{PageError, ReportKind, TraceSource, payload, words};
use crate::assets;
use crate::comparison::Comparison;

/// What shows the data. Built from `web/` into one script and one stylesheet.
#[derive(Clone, Copy, Debug)]
pub struct Viewer<'a> {
    script: &'a str,
    style: &'a str,
}

impl Viewer<'static> {
    /// The viewer that is part of coldstart.
    pub fn built_in() -> Self {
        Self { script: &assets::SCRIPT, style: &assets::STYLE }
    }
}

impl<'a> Viewer<'a> {
    /// Another viewer: for those who work on it, and need no new build of coldstart then.
    pub fn new(script: &'a str, style: &'a str) -> Self {
        Self { script, style }
    }

    /// As [`trace_page`](super::trace_page).
    ///
    /// # Errors
    ///
    /// When the viewer cannot be in a page.
    pub fn trace_page(&self, first: &TraceSource<'_>, second: Option<&TraceSource<'_>>) -> Result<Vec<u8>, PageError> {
        let head = PageHead {
            kind: "trace",
            title: words::title(first, second),
            version: env!("CARGO_PKG_VERSION"),
            traces: if second.is_some() { 2 } else { 1 },
            comparison: second.map(|second| Comparison::of(first, second).into()),
            report: None::<()>,
        };
        let mut shell = self.begin(&head)?;
        for (place, source) in [Some(first), second].into_iter().flatten().enumerate() {
            shell.data(place, |page| payload::write(source, page))?;
        }
        Ok(shell.finish())
    }

    /// As [`report_page`](super::report_page).
    ///
    /// # Errors
    ///
    /// When the report is not JSON or the viewer cannot be in a page.
    pub fn report_page(&self, kind: ReportKind, title: &str, report: &impl Serialize) -> Result<Vec<u8>, PageError> {
        let kind = match kind {
            ReportKind::Measure => "measure",
            ReportKind::Inspect => "inspect",
            ReportKind::Speedup => "speedup",
            ReportKind::Survey => "survey",
        };
        let version = env!("CARGO_PKG_VERSION");
        let head =
            PageHead { kind, title: title.to_owned(), version, traces: 0, comparison: None, report: Some(report) };
        Ok(self.begin(&head)?.finish())
    }

    fn begin(&self, head: &PageHead<'_, impl Serialize>) -> Result<Shell, PageError> {
        // `<!--` followed by `<script` makes the HTML parser look for two ends.
        for what in ["</script", "<!--", "\r"] {
            refuse("script", self.script, what)?;
        }
        refuse("style", self.style, "</style")?;
        let mut shell = Shell::begin(&head.title, self.script, self.style);
        shell.json("coldstart-page", &serde_json::to_string(head)?);
        Ok(shell)
    }
}

fn refuse(part: &'static str, text: &str, what: &'static str) -> Result<(), PageError> {
    let is_there = text.as_bytes().windows(what.len()).any(|window| window.eq_ignore_ascii_case(what.as_bytes()));
    if is_there { Err(PageError::Viewer { part, what }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_viewer_that_would_end_its_element_is_refused() {
        for (script, style) in [("a='</SCRIPT>'", ""), ("a<!--b", ""), ("a\r\nb", ""), ("", "a{}</Style x")] {
            let made = Viewer::new(script, style).report_page(ReportKind::Measure, "x", &());
            assert!(matches!(made, Err(PageError::Viewer { .. })), "{script}{style}");
        }
    }

    #[test]
    fn the_built_in_viewer_can_stand_in_a_page() {
        Viewer::built_in().report_page(ReportKind::Inspect, "x", &()).unwrap();
    }
}
