//! The mark in pages, pictures and other viewers' files that identifies them as coldstart's.
//!
//! | kind | mark |
//! |---|---|
//! | page | `<meta name="generator" content="coldstart VERSION">` |
//! | SVG | a comment, the first thing in the picture |
//! | PNG | a `tEXt` chunk with the keyword `Software` (PNG, 11.3.4.3), right after the header |
//! | Perfetto's JSON | `written-by` in `otherData`, at the end |
//! | Firefox's JSON | `schema`, at the start |

use serde::Serialize;
use serde_json::Value;

/// What wrote the file.
pub const GENERATOR: &str = concat!("coldstart ", env!("CARGO_PKG_VERSION"));
/// How it begins, whichever version it was.
const ANY_VERSION: &str = "coldstart ";
/// Bytes from a file's start, and from its end, that are enough to tell.
pub const ENOUGH: usize = 2048;

const META: &str = "<meta name=\"generator\" content=\"";
const COMMENT: &str = "Written by ";
const SOFTWARE: &[u8] = b"tEXtSoftware\0";
/// Where a PNG's header chunk ends: 8 bytes of signature, then length, type, 13 bytes of content and checksum.
const BEHIND_HEADER: usize = 8 + 4 + 4 + 13 + 4;
const WRITTEN_BY: &str = "\"written-by\":\"";
/// The schema of profiles for Firefox, at the front of the file.
const FIREFOX: &str = "coldstart.view-firefox/1";

/// The element that marks a page.
pub(crate) fn meta() -> String {
    format!("{META}{GENERATOR}\">\n")
}

/// The comment that marks a picture, to be the first thing in it.
pub fn comment() -> svg::node::Comment {
    svg::node::Comment::new(format!("{COMMENT}{GENERATOR}"))
}

/// A PNG with its mark; as it is if it is too short for one.
pub(crate) fn marked_png(png: Vec<u8>) -> Vec<u8> {
    let Some((header, rest)) = png.split_at_checked(BEHIND_HEADER) else { return png };
    let content = [SOFTWARE, GENERATOR.as_bytes()].concat();
    // The length counts what is after the type; the checksum covers both.
    let length = u32::try_from(content.len().saturating_sub(4)).unwrap_or(0);
    let mut checksum = flate2::Crc::new();
    checksum.update(&content);
    [header, &length.to_be_bytes(), &content, &checksum.sum().to_be_bytes(), rest].concat()
}

/// A profile for Firefox with its mark. The viewer passes over names that it does not know.
#[derive(Serialize)]
pub(crate) struct MarkedProfile<'a, P> {
    schema: &'static str,
    #[serde(flatten)]
    profile: &'a P,
}

impl<'a, P> MarkedProfile<'a, P> {
    pub(crate) fn new(profile: &'a P) -> Self {
        Self { schema: FIREFOX, profile }
    }
}

/// Whether a file is a page of ours, by its first [`ENOUGH`] bytes.
pub fn is_page(start: &[u8]) -> bool {
    start.starts_with(b"<!doctype html>") && has(start, &format!("{META}{ANY_VERSION}"))
}

/// Whether a file is a drawing of ours, by its first [`ENOUGH`] bytes.
pub fn is_svg(start: &[u8]) -> bool {
    start.starts_with(b"<svg ") && has(start, &format!("<!-- {COMMENT}{ANY_VERSION}"))
}

/// Whether a file is a picture of ours, by its first [`ENOUGH`] bytes.
pub fn is_png(start: &[u8]) -> bool {
    let mark = [SOFTWARE, ANY_VERSION.as_bytes()].concat();
    start.starts_with(b"\x89PNG\r\n\x1a\n")
        && start.get(BEHIND_HEADER + 4..).is_some_and(|rest| rest.starts_with(&mark))
}

/// Whether a file is one that we wrote for another viewer, by its first and last [`ENOUGH`] bytes.
pub fn is_json(start: &[u8], end: &[u8]) -> bool {
    let front = format!("{{\"schema\":{}", Value::from(FIREFOX));
    start.starts_with(front.as_bytes())
        || (start.starts_with(b"{\"displayTimeUnit\":") && has(end, &format!("{WRITTEN_BY}{ANY_VERSION}")))
}

fn has(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|window| window == words.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_png_stays_one_with_its_mark() {
        let mut pixels = resvg::tiny_skia::Pixmap::new(3, 2).unwrap();
        pixels.fill(resvg::tiny_skia::Color::BLACK);
        let plain = pixels.encode_png().unwrap();
        let marked = marked_png(plain.clone());
        assert!(is_png(&marked) && !is_png(&plain));
        assert_eq!(resvg::tiny_skia::Pixmap::decode_png(&marked).unwrap(), pixels);
    }

    #[test]
    fn what_others_wrote_is_told_apart() {
        for other in ["", "<!doctype html>\n<title>coldstart </title>", "<svg xmlns=''></svg>", "{\"schema\":\"x\"}"] {
            let bytes = other.as_bytes();
            assert!(!is_page(bytes) && !is_svg(bytes) && !is_png(bytes) && !is_json(bytes, bytes), "{other}");
        }
    }
}
