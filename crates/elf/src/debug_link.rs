//! `.gnu_debuglink`: the name and checksum of the file that holds an object's debug information, and where to look
//! for it.
//!
//! The section contains a name without a directory. Which directories to search is the debugger's rule, and all
//! distributions follow it ("Separate Debug Files" in gdb's manual). A build id identifies the same file without a
//! name, so it is tried first.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::address::FileOffset;
use crate::encoding::Encoding;
use crate::error::{ElfError, Result};
use crate::file::ElfFile;

const TABLE: &str = ".gnu_debuglink";

/// Where distributions keep debug files.
pub const DEFAULT_DEBUG_ROOT: &str = "/usr/lib/debug";

/// The contents of `.gnu_debuglink`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebugLink<'data> {
    /// Name of the debug file, without a directory.
    pub file_name: &'data [u8],
    /// CRC-32 (IEEE 802.3) of the whole debug file.
    pub crc: u32,
}

impl<'data> DebugLink<'data> {
    /// Reads the section's bytes, which begin at `file_offset` in the file: a name, zeros up to 4 bytes, a checksum.
    ///
    /// # Errors
    /// If the name or the checksum is truncated, or if the name contains a directory.
    pub fn parse(bytes: &'data [u8], file_offset: FileOffset, encoding: Encoding) -> Result<Self> {
        let malformed = |problem| ElfError::Malformed { table: TABLE, offset: file_offset, problem };
        let end =
            bytes.iter().position(|byte| *byte == 0).ok_or_else(|| malformed("the file name is not terminated"))?;
        let file_name = bytes.get(..end).unwrap_or_default();
        if !is_plain_name(file_name) {
            return Err(malformed("the file name is empty or contains a directory"));
        }
        let crc = end.checked_add(1).and_then(|end| end.checked_next_multiple_of(4)).and_then(|at| bytes.get(at..));
        let crc = crc.and_then(|bytes| encoding.u32(bytes)).ok_or_else(|| malformed("the checksum is missing"))?;
        Ok(Self { file_name, crc })
    }
}

impl<'data> ElfFile<'data> {
    /// The contents of `.gnu_debuglink`; `None` without such a section.
    ///
    /// # Errors
    /// If the section extends past the end of the file or is malformed.
    pub fn debug_link(&self) -> Result<Option<DebugLink<'data>>> {
        let Some(section) = self.section(TABLE) else { return Ok(None) };
        let bytes = self.section_bytes(&section.header)?;
        DebugLink::parse(bytes, section.header.offset, self.encoding()).map(Some)
    }
}

/// Whether `bytes` is the debug file that `link` names, by its checksum.
pub fn crc_matches(link: &DebugLink<'_>, bytes: &[u8]) -> bool {
    crc32fast::hash(bytes) == link.crc
}

/// Candidate paths of an object's debug file, in gdb's order. Does no I/O.
///
/// `path_of_object` should be absolute and without symbolic links: a relative path gives no candidates below a root.
/// `build_id` is the descriptor of the build-id note. `roots` are searched in order; usually [`DEFAULT_DEBUG_ROOT`]
/// alone.
///
/// For objects in directories joined by the `/usr` merge (`/lib` and `/usr/lib` and so on), both paths are listed:
/// Debian packages install debug files under the path that the object's package was built with.
pub fn debug_file_candidates(
    path_of_object: &Path,
    build_id: Option<&[u8]>,
    link: Option<&DebugLink<'_>>,
    roots: &[PathBuf],
) -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    // A file may have been copied over its own debug file's name; it is not its own debug file.
    let mut add = |candidate: PathBuf| {
        if candidate != path_of_object && !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    };
    if let Some(name) = build_id.and_then(build_id_name) {
        roots.iter().for_each(|root| add(root.join(&name)));
    }
    // The field is public, so the name is checked here as well.
    if let Some(name) = link.map(|link| link.file_name).filter(|name| is_plain_name(name)) {
        let name = OsStr::from_bytes(name);
        let directory = path_of_object.parent().unwrap_or(Path::new(""));
        add(directory.join(name));
        add(directory.join(".debug").join(name));
        for root in roots {
            directories_below_root(directory).iter().for_each(|directory| add(root.join(directory).join(name)));
        }
    }
    candidates
}

/// `.build-id/ab/cdef.debug`; `None` if the id is too short or too long for a name.
fn build_id_name(build_id: &[u8]) -> Option<PathBuf> {
    const NAME_MAX: usize = 255;
    let (first, rest) = build_id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    if rest.len().checked_mul(2)?.checked_add(".debug".len())? > NAME_MAX {
        return None;
    }
    let mut name = format!(".build-id/{first:02x}/");
    for byte in rest {
        write!(name, "{byte:02x}").ok()?;
    }
    name.push_str(".debug");
    Some(PathBuf::from(name))
}

/// The names of an absolute directory below a root, without the leading `/`: as given, then its `/usr`-merge
/// counterpart.
fn directories_below_root(directory: &Path) -> Vec<PathBuf> {
    let Ok(inner) = directory.strip_prefix("/") else { return Vec::new() };
    if inner.components().any(|component| component == Component::ParentDir) {
        return Vec::new();
    }
    let is_merged = |path: &Path| {
        let first = path.components().next().map(|component| component.as_os_str().as_bytes());
        // lib32, lib64, libx32 and libo32 belong to `lib`; `libexec` was never outside /usr.
        first.is_some_and(|name| matches!(name, b"bin" | b"sbin") || (name.starts_with(b"lib") && name != b"libexec"))
    };
    let mut directories = vec![inner.to_path_buf()];
    match inner.strip_prefix("usr") {
        Ok(below_usr) if is_merged(below_usr) => directories.push(below_usr.to_path_buf()),
        Err(_) if is_merged(inner) => directories.push(Path::new("usr").join(inner)),
        Ok(_) | Err(_) => {}
    }
    directories
}

/// Whether a name stays in the directory it is searched in.
fn is_plain_name(name: &[u8]) -> bool {
    !name.is_empty() && !name.contains(&b'/') && !name.contains(&0) && name != b"." && name != b".."
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::encoding::{ByteOrder, Class};

    const LITTLE: Encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 62 };
    const BIG: Encoding = Encoding { class: Class::Elf32, byte_order: ByteOrder::Big, machine: 8 };

    fn parse(bytes: &[u8]) -> Result<DebugLink<'_>> {
        DebugLink::parse(bytes, FileOffset(0x40), LITTLE)
    }

    #[test]
    fn a_name_padding_and_a_checksum() {
        let link = parse(b"a.debug\0\x01\x02\x03\x04").unwrap();
        assert_eq!(link, DebugLink { file_name: b"a.debug", crc: 0x0403_0201 });
        let link = DebugLink::parse(b"ab.debug\0\0\0\0\x01\x02\x03\x04", FileOffset(0), BIG).unwrap();
        assert_eq!(link, DebugLink { file_name: b"ab.debug", crc: 0x0102_0304 });
        assert_eq!(parse(b"x..debug\0\0\0\0abcd").unwrap().file_name, b"x..debug");
    }

    #[test]
    fn names_that_lead_elsewhere_and_cut_off_sections_are_refused() {
        for bytes in [
            b"../a\0\0\0\0abcd".as_slice(),
            b"/etc/shadow\0abcd",
            b"..\0\0abcd",
            b".\0\0\0abcd",
            b"\0\0\0\0abcd",
            b"a.debug",
            b"a.debug\0abc",
            b"ab.debug\0abcd",
            b"",
        ] {
            assert!(parse(bytes).is_err(), "{bytes:?}");
        }
        let link = DebugLink { file_name: b"../../etc/shadow", crc: 0 };
        assert_eq!(
            debug_file_candidates(Path::new("/bin/a"), None, Some(&link), &["/r".into()]),
            [""; 0].map(PathBuf::from)
        );
    }

    #[test]
    fn the_checksum_is_the_one_of_zlib() {
        let link = DebugLink { file_name: b"a", crc: 0xcbf4_3926 };
        assert!(crc_matches(&link, b"123456789"));
        assert!(!crc_matches(&link, b"123456788"));
    }

    #[test]
    fn candidates_come_in_the_debugger_s_order() {
        let link = DebugLink { file_name: b"libx.so.debug", crc: 0 };
        let roots = [PathBuf::from(DEFAULT_DEBUG_ROOT), PathBuf::from("/opt/debug")];
        let candidates =
            debug_file_candidates(Path::new("/usr/lib/x/libx.so"), Some(&[0xab, 0xcd, 0x0f]), Some(&link), &roots);
        let expected = [
            "/usr/lib/debug/.build-id/ab/cd0f.debug",
            "/opt/debug/.build-id/ab/cd0f.debug",
            "/usr/lib/x/libx.so.debug",
            "/usr/lib/x/.debug/libx.so.debug",
            "/usr/lib/debug/usr/lib/x/libx.so.debug",
            "/usr/lib/debug/lib/x/libx.so.debug",
            "/opt/debug/usr/lib/x/libx.so.debug",
            "/opt/debug/lib/x/libx.so.debug",
        ];
        assert_eq!(candidates, expected.map(PathBuf::from));
    }

    #[test]
    fn the_merge_of_usr_goes_both_ways_and_only_where_it_happened() {
        let directories = |directory| directories_below_root(Path::new(directory));
        assert_eq!(directories("/lib64"), ["lib64", "usr/lib64"].map(PathBuf::from));
        assert_eq!(directories("/usr/sbin"), ["usr/sbin", "sbin"].map(PathBuf::from));
        assert_eq!(directories("/usr/libexec"), ["usr/libexec"].map(PathBuf::from));
        assert_eq!(directories("/opt/lib"), ["opt/lib"].map(PathBuf::from));
        assert_eq!(directories("/"), [""].map(PathBuf::from));
        assert!(directories("lib").is_empty());
        assert!(directories("/lib/../etc").is_empty());
    }

    #[test]
    fn an_object_is_no_debug_file_of_itself_and_no_root_means_no_root() {
        let link = DebugLink { file_name: b"a", crc: 0 };
        let candidates = debug_file_candidates(Path::new("/bin/a"), Some(&[1]), Some(&link), &[]);
        assert_eq!(candidates, [PathBuf::from("/bin/.debug/a")]);
        assert!(build_id_name(&[1; 64]).is_some());
        assert_eq!(build_id_name(&[1; 200]), None);
        assert_eq!(build_id_name(&[]), None);
    }

    proptest! {
        #[test]
        fn no_name_leaves_the_directories(bytes: Vec<u8>, build_id: Vec<u8>) {
            if let Ok(link) = parse(&bytes) {
                let roots = [PathBuf::from("/r")];
                for path in debug_file_candidates(Path::new("/d/o"), Some(&build_id), Some(&link), &roots) {
                    prop_assert!(path.starts_with("/d") || path.starts_with("/r"));
                    prop_assert!(!path.components().any(|part| part == Component::ParentDir));
                }
            }
        }
    }
}
