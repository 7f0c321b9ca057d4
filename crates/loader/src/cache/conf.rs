//! The lines of /etc/ld.so.conf (`parse_conf` and `add_dir_1` in elf/ldconfig.c of glibc).

/// The meaning of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfLine {
    /// A directory to be scanned.
    Directory(RequestedDirectory),
    /// Patterns of further files, with `*`, `?` and `[...]`. A relative one is relative to the file's own directory.
    Include(Vec<Vec<u8>>),
    /// `hwcap`, ignored since 2.33.
    Ignored(Vec<u8>),
}

/// A directory to be scanned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedDirectory {
    /// Its path, without slashes at the end.
    pub path: Vec<u8>,
    /// The type of libraries whose type is ambiguous: the flag of `=libc5` or `=libc6` after the path.
    pub kind: Option<u32>,
}

impl RequestedDirectory {
    /// Parses a directory name from a line or a command line; none if it is empty.
    pub fn read(text: &[u8]) -> Option<Self> {
        let (path, kind) = match text.iter().position(|&byte| byte == b'=') {
            None => (text, None),
            Some(equals) => {
                let kind = match text.get(equals + 1..).unwrap_or_default() {
                    b"libc5" => Some(2),
                    b"libc6" | b"glibc2" => Some(3),
                    _ => None,
                };
                (text.get(..equals).unwrap_or_default(), kind)
            }
        };
        let mut path = path;
        while let Some((last, rest)) = path.split_last()
            && is_space(*last)
        {
            path = rest;
        }
        while let Some((b'/', rest)) = path.split_last() {
            path = rest;
        }
        (!path.is_empty()).then(|| Self { path: path.to_vec(), kind })
    }
}

/// Parses the lines of a file, in order. Comments begin with `#`; there is no quoting.
pub fn read_conf(text: &[u8]) -> Vec<ConfLine> {
    text.split(|&byte| byte == b'\n').filter_map(read_line).collect()
}

fn read_line(line: &[u8]) -> Option<ConfLine> {
    // A zero byte ends the line in C.
    let line = line.split(|&byte| byte == b'#' || byte == 0).next().unwrap_or_default();
    let start = line.iter().position(|&byte| !is_space(byte))?;
    let line = line.get(start..)?;
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    if let Some(patterns) = line.strip_prefix(b"include").filter(|rest| rest.first().is_some_and(blank)) {
        let patterns = patterns.split(|byte| blank(byte)).filter(|pattern| !pattern.is_empty());
        return Some(ConfLine::Include(patterns.map(<[u8]>::to_vec).collect()));
    }
    let word = line.get(..5).unwrap_or_default();
    if word.eq_ignore_ascii_case(b"hwcap") && line.get(5).is_some_and(blank) {
        return Some(ConfLine::Ignored(line.to_vec()));
    }
    RequestedDirectory::read(line).map(ConfLine::Directory)
}

/// `isspace` in the C locale.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

#[cfg(test)]
mod tests {
    use super::{ConfLine, RequestedDirectory, read_conf};

    fn directory(path: &str, kind: Option<u32>) -> ConfLine {
        ConfLine::Directory(RequestedDirectory { path: path.as_bytes().to_vec(), kind })
    }

    #[test]
    fn reads_what_ldconfig_reads() {
        let text = b"include /etc/a.conf\t/etc/b d/*.conf\n# comment\n  /opt/lib/// # more\n/old=libc5\r\n\n/\nhwcap 1 nosegneg\n\
            includes\n/with space  ";
        let patterns = ["/etc/a.conf", "/etc/b", "d/*.conf"].map(|pattern| pattern.as_bytes().to_vec());
        let lines = [
            ConfLine::Include(patterns.to_vec()),
            directory("/opt/lib", None),
            directory("/old", None),
            ConfLine::Ignored(b"hwcap 1 nosegneg".to_vec()),
            directory("includes", None),
            directory("/with space", None),
        ];
        assert_eq!(read_conf(text), lines);
        assert_eq!(read_conf(b"/old=libc5"), [directory("/old", Some(2))]);
    }
}
