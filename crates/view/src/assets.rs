//! What comes along with the program, packed by `build.rs`: the viewer and the font of pictures.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::ZlibDecoder;

/// The viewer's script, built from `web/`.
pub(crate) static SCRIPT: LazyLock<String> =
    LazyLock::new(|| text(include_bytes!(concat!(env!("OUT_DIR"), "/viewer.js"))));
/// The viewer's stylesheet, built from `web/`.
pub(crate) static STYLE: LazyLock<String> =
    LazyLock::new(|| text(include_bytes!(concat!(env!("OUT_DIR"), "/viewer.css"))));

/// DejaVu Sans, as TrueType.
pub(crate) fn font() -> Vec<u8> {
    unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/sans.ttf")))
}

fn text(packed: &[u8]) -> String {
    String::from_utf8(unpacked(packed)).unwrap_or_default()
}

/// The stream comes from `build.rs`; a test unpacks all of them.
fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = ZlibDecoder::new(packed).read_to_end(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_what_is_unpacked() {
        assert_eq!(*SCRIPT, include_str!("../assets/viewer.js"));
        assert_eq!(*STYLE, include_str!("../assets/viewer.css"));
        assert_eq!(font(), dejavu::sans::regular());
    }
}
