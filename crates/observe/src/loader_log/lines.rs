//! One line of the log, recognised by its wording.
//!
//! The wordings are those of `elf/dl-load.c`, `dl-init.c`, `rtld.c` and `dl-open.c`, the same since glibc 2.4. A name may
//! contain any byte, so a line may look like another one; that does no harm.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A relevant line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'l> {
    /// `file=NAME [NS];  needed by PATH [NS]` or `dynamically loaded by`.
    Asked { name: &'l OsStr, namespace: u64, requester: &'l Path, by_dlopen: bool },
    /// `find library=NAME [NS]; searching`.
    Search { name: &'l OsStr },
    /// `trying file=PATH`.
    Try(&'l Path),
    /// `file=NAME [NS];  generating link map`.
    Mapped { name: &'l OsStr, namespace: u64 },
    /// `calling preinit: PATH`.
    EarlyInitialiser(&'l Path),
    /// `calling init: PATH`.
    Initialiser(&'l Path),
    /// `initialize program: PATH`.
    ProgramInitialiser(&'l Path),
    /// `transferring control: PATH`.
    Control(&'l Path),
    /// `runtime linker statistics:`.
    Statistics,
    /// A line of the statistics: its label without blanks at either end, and its first number.
    Figure(&'l [u8], u64),
}

impl<'l> Line<'l> {
    /// Parses one line of a process; `None` for lines of others and irrelevant ones.
    pub(super) fn read(line: &'l [u8], process: u32) -> Option<Self> {
        let tab = line.iter().position(|&byte| byte == b'\t')?;
        let number = line.get(..tab)?.trim_ascii_start().strip_suffix(b":")?;
        if std::str::from_utf8(number).ok()?.parse::<u32>().ok()? != process {
            return None;
        }
        Self::read_text(line.get(tab.checked_add(1)?..)?)
    }

    fn read_text(text: &'l [u8]) -> Option<Self> {
        if let Some(rest) = text.strip_prefix(b"file=") {
            return file(rest);
        }
        if let Some(rest) = text.strip_prefix(b"find library=") {
            let (name, _) = numbered(rest.strip_suffix(b"; searching")?)?;
            return Some(Self::Search { name });
        }
        type Make<'l> = fn(&'l Path) -> Line<'l>;
        let wordings: [(&[u8], Make<'l>); 5] = [
            (b"  trying file=", Self::Try),
            (b"calling preinit: ", Self::EarlyInitialiser),
            (b"calling init: ", Self::Initialiser),
            (b"initialize program: ", Self::ProgramInitialiser),
            (b"transferring control: ", Self::Control),
        ];
        for (wording, make) in wordings {
            if let Some(path) = text.strip_prefix(wording) {
                return Some(make(Path::new(OsStr::from_bytes(path))));
            }
        }
        if text == b"runtime linker statistics:" {
            return Some(Self::Statistics);
        }
        let colon = text.iter().position(|&byte| byte == b':')?;
        let digits = text.get(colon.checked_add(1)?..)?.trim_ascii_start();
        let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(digits.get(..length)?).ok()?.parse().ok()?;
        Some(Self::Figure(text.get(..colon)?.trim_ascii(), number))
    }
}

/// What comes after `file=`.
fn file(rest: &[u8]) -> Option<Line<'_>> {
    if let Some(named) = rest.strip_suffix(b";  generating link map") {
        let (name, namespace) = numbered(named)?;
        return Some(Line::Mapped { name, namespace });
    }
    for (wording, by_dlopen) in [(b";  needed by ".as_slice(), false), (b";  dynamically loaded by ", true)] {
        if let Some(at) = rest.windows(wording.len()).position(|window| window == wording) {
            let (name, namespace) = numbered(rest.get(..at)?)?;
            let (requester, _) = numbered(rest.get(at.checked_add(wording.len())?..)?)?;
            return Some(Line::Asked { name, namespace, requester: Path::new(requester), by_dlopen });
        }
    }
    None
}

/// `NAME [NUMBER]`.
fn numbered(text: &[u8]) -> Option<(&OsStr, u64)> {
    let text = text.strip_suffix(b"]")?;
    let bracket = text.iter().rposition(|&byte| byte == b'[')?;
    let number = std::str::from_utf8(text.get(bracket.checked_add(1)?..)?).ok()?.parse().ok()?;
    Some((OsStr::from_bytes(text.get(..bracket)?.strip_suffix(b" ")?), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        let read = |text: &'static str| Line::read(text.as_bytes(), 17);
        let name = OsStr::new("liba b.so.1");
        let asked = Line::Asked { name, namespace: 0, requester: Path::new("./x [y]"), by_dlopen: false };
        assert_eq!(read("     17:\tfile=liba b.so.1 [0];  needed by ./x [y] [0]"), Some(asked));
        assert_eq!(read("17:\tfile=liba b.so.1 [3];  generating link map"), Some(Line::Mapped { name, namespace: 3 }));
        assert_eq!(read("17:\tfind library=liba b.so.1 [0]; searching"), Some(Line::Search { name }));
        assert_eq!(read("17:\t  trying file=/a"), Some(Line::Try(Path::new("/a"))));
        assert_eq!(read("17:\tcalling init: /a"), Some(Line::Initialiser(Path::new("/a"))));
        let label = b"time needed for relocation".as_slice();
        assert_eq!(
            read("17:\t            time needed for relocation: 20334 cycles (8.7%)"),
            Some(Line::Figure(label, 20334))
        );
        for other in [
            "18:\tcalling init: /a",
            "17: calling init: /a",
            "calling init: /a",
            "17:\t",
            "17:\tfile=a",
            "",
            "x17:\tcalling init: /a",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
