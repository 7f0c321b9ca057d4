//! Quoting words for a shell.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::is_unseen;

/// Reserved words of shells at the start of a command.
const RESERVED: [&str; 19] = [
    "case", "coproc", "do", "done", "elif", "else", "end", "esac", "fi", "for", "foreach", "function", "if", "in",
    "select", "then", "time", "until", "while",
];

/// The word in visible characters, quoted if a shell would change it.
///
/// Most words need nothing or `'...'`. Bytes that are not UTF-8 and characters that are invisible or look like a space are
/// written as `$'\ooo'`: octal, since shells differ in where `\x` ends. bash, zsh and ksh support it, and POSIX since 2024
/// (Shell & Utilities, 2.2.4). A shell reads back the same bytes, up to a NUL, which no word can contain.
pub fn shell_word(word: &OsStr) -> String {
    let bytes = word.as_bytes();
    match word.to_str() {
        Some(text) if is_plain(bytes) => text.to_owned(),
        // Within `$'...'` an interactive shell leaves `!` alone, and within `'...'` too.
        Some(text) if !text.chars().any(needs_escape) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => escaped(bytes),
    }
}

/// A whole command, see [`shell_word`]. The first word is also quoted if it is a reserved word.
pub fn shell_command<'word>(words: impl IntoIterator<Item = &'word OsStr>) -> String {
    let mut command = String::new();
    for word in words {
        let quoted = shell_word(word);
        let is_first = command.is_empty();
        if !is_first {
            command.push(' ');
        }
        match is_first && RESERVED.contains(&quoted.as_str()) {
            true => command.extend(["'", &quoted, "'"]),
            false => command.push_str(&quoted),
        }
    }
    command
}

/// Whether no shell gives any of the bytes a meaning. `=` has one in assignments, and in front in zsh; `%` in front.
fn is_plain(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:,@+".contains(byte) || !byte.is_ascii())
        && std::str::from_utf8(bytes).is_ok_and(|text| !text.chars().any(needs_escape))
}

fn needs_escape(character: char) -> bool {
    is_unseen(character) || character.is_whitespace() && character != ' '
}

fn escaped(bytes: &[u8]) -> String {
    let mut quoted = "$'".to_owned();
    let octal = |quoted: &mut String, bytes: &[u8]| {
        bytes.iter().for_each(|byte| quoted.push_str(&format!("\\{byte:03o}")));
    };
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                '\'' | '\\' => quoted.extend(['\\', character]),
                _ if needs_escape(character) => octal(&mut quoted, character.encode_utf8(&mut [0; 4]).as_bytes()),
                _ => quoted.push(character),
            }
        }
        octal(&mut quoted, chunk.invalid());
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    fn word(bytes: &[u8]) -> String {
        shell_word(OsStr::from_bytes(bytes))
    }

    #[test]
    fn words_are_quoted_as_far_as_they_must_be() {
        assert_eq!(word(b"/usr/lib/libxul.so"), "/usr/lib/libxul.so");
        assert_eq!(word("/home/höhe".as_bytes()), "/home/höhe");
        assert_eq!(word(b""), "''");
        assert_eq!(word(b"it's {a} !b"), r"'it'\''s {a} !b'");
        assert_eq!(word(b"a\n\x1b[31m'\\\xff"), r"$'a\n\033[31m\'\\\377'");
        assert_eq!(word("a\u{a0}b\u{202e}".as_bytes()), r"$'a\302\240b\342\200\256'");
    }

    #[test]
    fn what_a_shell_takes_for_its_own_is_quoted_in_front_only() {
        let command = |words: &[&str]| shell_command(words.iter().map(OsStr::new));
        assert_eq!(command(&["time", "time"]), "'time' time");
        assert_eq!(command(&["A=b", "A=b", "%1", "=ls"]), "'A=b' 'A=b' '%1' '=ls'");
    }

    /// What the shells of this machine that know `$'...'` make of the words.
    fn read_back(words: &[Vec<u8>]) {
        let command = shell_command(words.iter().map(|word| OsStr::from_bytes(word)));
        let expected: Vec<u8> = words.iter().flat_map(|word| [word.as_slice(), b"\0"].concat()).collect();
        for shell in ["bash", "zsh", "ksh"] {
            let script = format!("printf '%s\\0' {command}");
            match Command::new(shell).args(["-c", &script]).output() {
                Ok(output) => assert_eq!(output.stdout, expected, "{shell}: {command}"),
                Err(error) => assert!(shell != "bash" && error.kind() == std::io::ErrorKind::NotFound, "{error}"),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn shells_read_back_the_same_bytes(
            any in prop::collection::vec(prop::collection::vec(1..=255u8, 0..12), 1..20),
            odd in prop::collection::vec(prop::collection::vec(prop::sample::select(b"a0'\"\\$!{},~=%^*?[ \t\n\r\x01\x7f\xc3\xa9\xe2\x80\xae;&|<>()#`".to_vec()), 0..12), 1..20),
        ) {
            read_back(&any);
            read_back(&odd);
        }
    }
}
