//! `/proc/PID/maps` and `smaps`: a process's mappings (`proc_pid_maps(5)`, `proc_pid_smaps(5)`).
//!
//! In a path only line ends are escaped, not even the backslash (`show_map_vma` in `fs/proc/task_mmu.c`), so a file name with
//! the four characters `\012` looks like one with a line end. The device is that of the super block: on btrfs and
//! overlayfs it differs from that of `stat`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::block_device::DeviceNumber;
use crate::text::{decimal, hexadecimal, kibibytes};

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The first address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// `rwxp` or `rwxs`, with hyphens for what is not permitted.
    pub permissions: [u8; 4],
    /// The file offset of the first address, in bytes.
    pub offset: u64,
    /// The device of the file's super block.
    pub device: DeviceNumber,
    /// The file's inode number; 0 without a file.
    pub inode: u64,
    /// The file's path, followed by ` (deleted)` if it was removed; `[heap]` and the like; or empty.
    pub path: PathBuf,
}

impl Mapping {
    /// From `start-end permissions offset major:minor inode      path`; `None` for a malformed line.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let mut words = line.splitn(6, |&byte| byte == b' ');
        let (start, end) = numbers(words.next()?, b'-')?;
        let permissions = words.next()?.try_into().ok()?;
        let offset = hexadecimal(words.next()?)?;
        let (major, minor) = numbers(words.next()?, b':')?;
        let device = DeviceNumber { major: u32::try_from(major).ok()?, minor: u32::try_from(minor).ok()? };
        let inode = decimal(words.next()?)?;
        let path = words.next().unwrap_or_default();
        let begin = path.iter().position(|&byte| byte != b' ').unwrap_or(path.len());
        let path = PathBuf::from(OsString::from_vec(with_line_ends(path.get(begin..)?)));
        Some(Self { start, end, permissions, offset, device, inode, path })
    }

    /// Whether it is executable.
    pub fn is_executable(&self) -> bool {
        self.permissions[2] == b'x'
    }

    /// Whether it is private (copy on write).
    pub fn is_private(&self) -> bool {
        self.permissions[3] == b'p'
    }
}

/// The two hexadecimal numbers on both sides of a separator.
fn numbers(word: &[u8], separator: u8) -> Option<(u64, u64)> {
    let (first, second) = word.split_at(word.iter().position(|&byte| byte == separator)?);
    Some((hexadecimal(first)?, hexadecimal(second.get(1..)?)?))
}

fn with_line_ends(path: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, behind)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(b"\\012") {
            bytes.push(b'\n');
            rest = behind;
        } else {
            bytes.push(byte);
            rest = behind;
        }
    }
    bytes
}

/// The mappings in the bytes of `maps`, by ascending address. Malformed lines are skipped.
pub fn parse_maps(maps: &[u8]) -> Vec<Mapping> {
    maps.split(|&byte| byte == b'\n').filter_map(Mapping::parse).collect()
}

/// The figures below a mapping in `smaps`, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingUse {
    /// In the page table (`Rss`).
    pub in_page_table: u64,
    /// Of that, memory without a file, and pages copied on write.
    pub anonymous: u64,
    /// Locked into memory (`mlock(2)`).
    pub locked: u64,
}

/// The mappings in the bytes of `smaps` with their figures. Malformed lines are skipped.
pub fn parse_smaps(smaps: &[u8]) -> Vec<(Mapping, MappingUse)> {
    let mut mappings: Vec<(Mapping, MappingUse)> = Vec::new();
    for line in smaps.split(|&byte| byte == b'\n') {
        if let Some(mapping) = Mapping::parse(line) {
            mappings.push((mapping, MappingUse::default()));
            continue;
        }
        let Some((_, use_of)) = mappings.last_mut() else { continue };
        for (name, figure) in
            [("Rss", &mut use_of.in_page_table), ("Anonymous", &mut use_of.anonymous), ("Locked", &mut use_of.locked)]
        {
            if let Some(bytes) = kibibytes(line, name) {
                *figure = bytes;
            }
        }
    }
    mappings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{ProcessFiles, own};
    use proptest::prelude::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    const SMAPS: &[u8] = b"\
55d0-55d8 r--p 00000000 fe:00 77                         /opt/a b: c\\012d\xff
Size:                 32 kB
Rss:                  24 kB
Anonymous:             8 kB
Locked:               16 kB
VmFlags: rd mr mw me sd
7ffc-7ffd rw-p 00000000 00:00 0                          [stack]
Rss:                 400 kB
00400000-00401000 r-xs 00001000 103:11 5 /bin/x (deleted)
Rss:                   4 kB
7fff-8000 rw-p 00000000 00:00 0 
";

    #[test]
    fn figures_go_to_their_mapping() {
        let parsed = parse_smaps(SMAPS);
        let paths: Vec<_> = parsed.iter().map(|(mapping, _)| mapping.path.as_os_str().as_bytes()).collect();
        assert_eq!(paths, [&b"/opt/a b: c\nd\xff"[..], b"[stack]", b"/bin/x (deleted)", b""]);
        assert_eq!(parsed[0].1, MappingUse { in_page_table: 24 << 10, anonymous: 8 << 10, locked: 16 << 10 });
        assert_eq!(parsed[1].1.in_page_table, 400 << 10);
        let wanted = Mapping {
            start: 0x40_0000,
            end: 0x40_1000,
            permissions: *b"r-xs",
            offset: 0x1000,
            device: DeviceNumber { major: 0x103, minor: 0x11 },
            inode: 5,
            path: OsStr::new("/bin/x (deleted)").into(),
        };
        assert!(wanted.is_executable() && !wanted.is_private() && parsed[0].0.is_private());
        assert_eq!(parsed[2], (wanted, MappingUse { in_page_table: 4 << 10, ..MappingUse::default() }));
        assert_eq!(parse_maps(SMAPS), parsed.into_iter().map(|(mapping, _)| mapping).collect::<Vec<_>>());
    }

    #[test]
    fn hostile_lines_are_skipped() {
        for line in [
            "",
            "a",
            "1-2 r--p 0 fe:00",
            "1-2 r--p 0 zz:00 7 /x",
            "1-2 r--p 0 fe00 7 /x",
            "1-2 r--p 0 fe:00 -7 /x",
            "1-2 r-p 0 fe:00 7 /x",
            "12 r--p 0 fe:00 7 /x",
            "1-2 r--p 0 1fffffffff:00 7 /x",
        ] {
            assert_eq!(Mapping::parse(line.as_bytes()), None, "{line}");
        }
        assert_eq!(parse_smaps(b"Rss: 99999999999999999999 kB\n:\n\xff\xff:1"), []);
    }

    #[test]
    fn this_process_is_understood_line_by_line() {
        let text = std::fs::read(own::MAPS).unwrap();
        let mappings = parse_maps(&text);
        assert_eq!(mappings.len(), text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count());
        assert!(mappings.iter().all(|mapping| mapping.start < mapping.end));
        let program = ProcessFiles::own().program().unwrap();
        assert!(mappings.iter().any(|mapping| mapping.path == program && mapping.is_executable()));
        let in_page_table: u64 =
            ProcessFiles::own().smaps().unwrap().iter().map(|(_, use_of)| use_of.in_page_table).sum();
        assert!(in_page_table > 0);
    }

    proptest! {
        #[test]
        fn any_path_comes_back(path in prop::collection::vec(any::<u8>(), 0..30)) {
            let path = [b"/", &*path].concat();
            prop_assume!(!path.windows(4).any(|window| window == b"\\012"));
            let shown: Vec<u8> =
                path.iter().flat_map(|&byte| if byte == b'\n' { b"\\012".to_vec() } else { vec![byte] }).collect();
            let line = [b"7f00-7f10 r-xp 00001000 fe:01 77             ", &*shown].concat();
            prop_assert_eq!(Mapping::parse(&line).unwrap().path.into_os_string().into_vec(), path);
        }

        #[test]
        fn hostile_texts_are_harmless(text in prop::collection::vec(prop_oneof![any::<u8>(), Just(b' '), Just(b'\n'), Just(b':'), Just(b'-'), Just(b'0')], 0..200)) {
            prop_assert_eq!(parse_maps(&text).len(), parse_smaps(&text).len());
        }
    }
}
