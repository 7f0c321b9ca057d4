//! The HTML around the data.
//!
//! Everything that comes from a trace passes through [`text`] or [`json_in_html`] here, or is base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::PageError;

/// A clock hand that has just left twelve; as an address, so that no browser asks for another.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' \
                    r='7' fill='%230b63a5'/%3E%3Cpath d='M8 3v5l3 2' stroke='%23fff' stroke-width='1.6' fill='none'/%3E%3C/svg%3E";

/// Shown where scripts do not run.
const NO_SCRIPT: &str = "This page draws its data with a script that stands in it, and scripts are switched off here. \
                         The page needs no network; coldstart prints the same figures as text.";

/// Shown until the viewer has read the data, and for good where the file ends before them.
const WAITING: &str = "This page is being read. If this sentence stays, the file was cut off: make or copy it again.";

/// A page that is being written.
pub(super) struct Shell {
    page: Vec<u8>,
}

impl Shell {
    /// Writes all up to the data, the viewer included.
    pub(super) fn begin(title: &str, script: &str, style: &str) -> Self {
        let mut shell = Self { page: Vec::new() };
        let title = text(title);
        let policy = policy(script);
        let no_script = text(NO_SCRIPT);
        let generator = crate::mark::meta();
        shell.write(&format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{generator}\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>{title}</title>\n<link rel=\"icon\" href=\"{ICON}\">\n<style>\n"
        ));
        shell.write(style);
        shell.write(&format!(
            "\n</style>\n</head>\n<body>\n<div id=\"coldstart\"><p>{WAITING}</p><noscript><p>{no_script}</p></noscript></div>\n"
        ));
        // In front of the data, for which it waits: so it can still say that they end too early.
        shell.write("<script>");
        shell.write(script);
        shell.write("</script>\n");
        shell
    }

    /// An element of JSON.
    pub(super) fn json(&mut self, id: &str, json: &str) {
        self.write(&format!("<script type=\"application/json\" id=\"{id}\">"));
        let json = json_in_html(json);
        self.write(&json);
        self.write("</script>\n");
    }

    /// An element with the data of one trace, in an alphabet that means nothing in HTML.
    pub(super) fn data(
        &mut self,
        place: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), PageError>,
    ) -> Result<(), PageError> {
        self.write(&format!("<script type=\"text/plain\" id=\"coldstart-data-{place}\">"));
        write(&mut self.page)?;
        self.write("</script>\n");
        Ok(())
    }

    /// Writes what is after the data.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.write("</body>\n</html>\n");
        self.page
    }

    fn write(&mut self, text: &str) {
        self.page.extend_from_slice(text.as_bytes());
    }
}

/// What the page may do: run the script with this hash, style itself, draw pictures that it made, and nothing else.
/// Charts set the style of elements, so styles are not held to a hash; with nowhere to send to, they can do no harm.
fn policy(script: &str) -> String {
    let hash = STANDARD.encode(Sha256::digest(script.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
}

/// Text in HTML, between tags or in an attribute. Characters that HTML has no place for become U+FFFD.
fn text(words: &str) -> String {
    let mut escaped = String::with_capacity(words.len());
    for character in words.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(' '),
            control if control.is_control() => escaped.push('\u{fffd}'),
            plain => escaped.push(plain),
        }
    }
    escaped
}

/// JSON that nothing in HTML can take for its own. These characters are in strings only, so what it means stays the
/// same.
fn json_in_html(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len() + json.len() / 16);
    for character in json.chars() {
        match character {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            '\u{7f}' => escaped.push_str("\\u007f"),
            plain => escaped.push(plain),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_html_is_escaped() {
        assert_eq!(text("<a b='c'>&\"\0\u{7}\n"), "&lt;a b=&#39;c&#39;&gt;&amp;&quot;\u{fffd}\u{fffd} ");
        assert_eq!(json_in_html("\"</script>&\u{2028}\""), "\"\\u003c/script\\u003e\\u0026\\u2028\"");
    }

    #[test]
    fn the_policy_names_the_script() {
        // printf 'alert(1)' | openssl dgst -sha256 -binary | base64
        assert!(policy("alert(1)").contains("'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"));
    }
}
