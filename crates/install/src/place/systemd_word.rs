//! Words of a systemd command line (`systemd.service(5)`, "Command lines"; checked with `systemd-analyze verify`).
//!
//! Not obvious: the first word, the executable, has rules of its own. Variables are not replaced in it, and no quoting admits
//! quotes, backslashes and control characters (`string_is_safe` in systemd's src/basic/string-util.c): systemd refuses the unit.

use std::path::Path;

/// Why a path cannot be that of an executable in a unit.
pub(super) const UNFIT: &str = "systemd refuses executables with quotes, backslashes, control characters or bytes that are not UTF-8 in their path";

/// What systemd takes for space at the edges of lines, keys and values, and between words (`WHITESPACE` in src/basic/string-util.h).
pub(super) const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// Whether a line or value ends with a backslash that escapes what follows: systemd joins the next line to it (`config_parse` in
/// src/shared/conf-parser.c).
pub(super) fn ends_with_escape(text: &str) -> bool {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// An absolute path as the executable of a command line; `None` for one that systemd refuses ([`UNFIT`]).
pub(super) fn executable(path: &Path) -> Option<String> {
    let text = path.to_str().filter(|text| text.starts_with('/'))?;
    let is_refused = |character: char| character.is_ascii_control() || "\"'\\".contains(character);
    (!text.contains(is_refused)).then(|| quoted(&specifiers_as_text(text), false))
}

/// Text in which systemd finds no specifier (`systemd.unit(5)`, "Specifiers").
pub(super) fn specifiers_as_text(text: &str) -> String {
    text.replace('%', "%%")
}

/// A word for a command line, in which specifiers stay as they are; `dollars`: where variables are replaced.
pub(super) fn quoted(word: &str, dollars: bool) -> String {
    let word = if dollars { word.replace('$', "$$") } else { word.to_owned() };
    let is_plain = word.chars().all(|character| character.is_alphanumeric() || "/._-+,:@%$=".contains(character));
    match is_plain {
        true => word,
        false => {
            format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_is_quoted_or_refused() {
        for (path, expected) in
            [("/usr/bin/x", "/usr/bin/x"), ("/a b/x", "\"/a b/x\""), ("/a%h/$x", "/a%%h/$x"), ("/ü;{x}", "\"/ü;{x}\"")]
        {
            assert_eq!(executable(Path::new(path)).as_deref(), Some(expected), "{path}");
        }
        for path in ["x", "", "/a\"", "/a'", "/a\\", "/a\n", "/a\t", "/a\x7f"] {
            assert_eq!(executable(Path::new(path)), None, "{path:?}");
        }
    }
}
