//! The entries of a tar file: POSIX ustar and pax, and GNU's long names. Numbers and fields of a header are the crate tar's; which header
//! comes next is decided here, because sizes come from pax records, too, and because all that is kept in memory must have a limit.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use coldstart_image::{DeviceNumber, Timestamp, Xattr};
use tar::Header;

use crate::error::OciProblem;

const BLOCK: u64 = 512;
/// Mode, owner, group, size, time, and the parts of a device number (POSIX.1-2017, ustar interchange format).
const NUMBERS: [Range<usize>; 7] = [100..108, 108..116, 116..124, 124..136, 136..148, 329..337, 337..345];
/// The longest record of pax or of GNU's that is kept, in bytes: some attributes of 64 KiB.
const LONGEST_RECORD: u64 = 1 << 20;
/// What a global header may say of all entries behind it. Anything else that counts belongs to one entry: names, links, sizes,
/// attributes. A small layer could otherwise give a long one to each of very many entries.
const OF_ALL_ENTRIES: [&[u8]; 3] = [b"uid", b"gid", b"mtime"];
/// Bytes of the longest number or time in it.
const LONGEST_NUMBER: usize = 64;
/// Headers with records in front of one entry: there are three kinds, and each should be there once.
const MOST_HEADERS: usize = 32;
/// Go's archive/tar and others write extended attributes as such records.
const XATTR: &[u8] = b"SCHILY.xattr.";
/// GNU tar's records for files with holes.
const SPARSE: &[u8] = b"GNU.sparse.";

/// An entry of a tar file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TarEntry {
    /// Offset of its header.
    pub offset: u64,
    /// The name as it stands there.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: TarKind,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Last change.
    pub modified: Timestamp,
    /// Sorted by name.
    pub xattrs: Vec<Xattr>,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TarKind {
    /// A directory.
    Directory,
    /// Offset and length of the content.
    Regular(u64, u64),
    /// A symbolic link and its target.
    Symlink(Vec<u8>),
    /// Another name of an earlier entry.
    HardLink(Vec<u8>),
    /// A character device.
    CharacterDevice(DeviceNumber),
    /// A block device.
    BlockDevice(DeviceNumber),
    /// A named pipe.
    Fifo,
}

/// The entries of a tar file, one after the other.
#[derive(Debug)]
pub struct Entries<'file> {
    file: &'file File,
    length: u64,
    position: u64,
    /// Of global headers.
    defaults: BTreeMap<Vec<u8>, Vec<u8>>,
}

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

impl<'file> Entries<'file> {
    /// Of a whole file.
    ///
    /// # Errors
    /// If its size cannot be read.
    pub fn new(file: &'file File) -> Result<Self, OciProblem> {
        let length = file.metadata().map_err(OciProblem::Io)?.len();
        Ok(Self { file, length, position: 0, defaults: Records::new() })
    }

    /// The next entry; `None` at the end.
    ///
    /// # Errors
    /// A damaged header, or one that no reader should follow.
    #[expect(clippy::should_implement_trait, reason = "an iterator would go on after an error")]
    pub fn next(&mut self) -> Result<Option<TarEntry>, OciProblem> {
        let mut records = self.defaults.clone();
        for number in 0..MOST_HEADERS {
            let offset = self.position;
            let Some(header) = self.header(number > 0)? else { return Ok(None) };
            let size = header.entry_size().map_err(|error| damaged(offset, error))?;
            let kind = header.as_bytes().get(156).copied().unwrap_or(0);
            match kind {
                b'x' => pax_records(&self.record(size, offset)?, offset, &mut records)?,
                b'g' => {
                    let record = self.record(size, offset)?;
                    pax_records(&record, offset, &mut self.defaults)?;
                    let is_wrong = |(key, value): &(&Vec<u8>, &Vec<u8>)| {
                        let is_for_all = OF_ALL_ENTRIES.contains(&key.as_slice());
                        if is_for_all { value.len() > LONGEST_NUMBER } else { is_of_one_entry(key) }
                    };
                    if let Some((key, _)) = self.defaults.iter().find(is_wrong) {
                        let key: String = String::from_utf8_lossy(key).chars().take(100).collect();
                        return Err(damaged(offset, format!("a global header has the record `{key}`")));
                    }
                    self.defaults.retain(|key, _| OF_ALL_ENTRIES.contains(&key.as_slice()));
                    pax_records(&record, offset, &mut records)?;
                }
                b'L' | b'K' => {
                    let mut name = self.record(size, offset)?;
                    name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
                    records.insert(if kind == b'L' { b"path".to_vec() } else { b"linkpath".to_vec() }, name);
                }
                _ => return self.entry(offset, &header, size, kind, records).map(Some),
            }
        }
        Err(damaged(self.position, format!("more than {MOST_HEADERS} headers for one entry")))
    }

    /// The next header, checked; `None` at the end: two blocks of zeros, or the end of the file.
    fn header(&mut self, is_continued: bool) -> Result<Option<Header>, OciProblem> {
        let offset = self.position;
        if offset == self.length && !is_continued {
            return Ok(None);
        }
        let mut block = [0; BLOCK as usize];
        self.file.read_exact_at(&mut block, offset).map_err(|error| damaged(offset, error))?;
        self.position = offset.saturating_add(BLOCK);
        if block.iter().all(|byte| *byte == 0) && !is_continued {
            return Ok(None);
        }
        let mut header = Header::from_byte_slice(&block).clone();
        // The checksum's own field counts as blanks.
        let is_field = |place: usize| (148..156).contains(&place);
        let sum: u32 =
            block.iter().enumerate().map(|(at, byte)| u32::from(if is_field(at) { b' ' } else { *byte })).sum();
        if header.cksum().ok() != Some(sum) {
            return Err(damaged(offset, "the checksum of a header is wrong"));
        }
        // An empty number is 0 (Go's archive/tar reads it so), which the crate refuses.
        for field in NUMBERS {
            if let Some(field) = header.as_mut_bytes().get_mut(field)
                && field.iter().all(|byte| matches!(byte, 0 | b' '))
            {
                field.fill(b'0');
            }
        }
        Ok(Some(header))
    }

    /// Passes over some content, which must be there.
    fn pass(&mut self, size: u64, offset: u64) -> Result<u64, OciProblem> {
        let begin = self.position;
        let end = begin.checked_add(size).filter(|end| *end <= self.length);
        let end =
            end.ok_or_else(|| damaged(offset, format!("{size} bytes are announced, and the file ends before")))?;
        // The padding of the last entry may be missing.
        self.position = end.checked_next_multiple_of(BLOCK).unwrap_or(end).min(self.length);
        Ok(begin)
    }

    fn record(&mut self, size: u64, offset: u64) -> Result<Vec<u8>, OciProblem> {
        if size > LONGEST_RECORD {
            return Err(damaged(offset, format!("a record of {size} bytes is longer than {LONGEST_RECORD}")));
        }
        let begin = self.pass(size, offset)?;
        let mut bytes = vec![0; size as usize];
        self.file.read_exact_at(&mut bytes, begin).map_err(|error| damaged(offset, error))?;
        Ok(bytes)
    }

    fn entry(
        &mut self,
        offset: u64,
        header: &Header,
        size: u64,
        kind: u8,
        mut records: Records,
    ) -> Result<TarEntry, OciProblem> {
        let name = records.remove(&b"path"[..]).unwrap_or_else(|| header.path_bytes().into_owned());
        let wrong = |problem: String| OciProblem::Entry {
            name: String::from_utf8_lossy(&name).chars().take(300).collect(),
            offset,
            problem,
        };
        if kind == b'S' || records.keys().any(|key| key.starts_with(SPARSE)) {
            return Err(wrong("is a sparse file, which layers should not have".to_owned()));
        }
        let number = |key: &str, of_header: std::io::Result<u64>| match records.get(key.as_bytes()) {
            Some(value) => std::str::from_utf8(value)
                .ok()
                .and_then(|text| text.parse::<u64>().ok())
                .ok_or_else(|| wrong(format!("has a wrong record `{key}`"))),
            None => of_header.map_err(|error| wrong(format!("has a wrong field: {error}"))),
        };
        let owner = |key: &str, of_header| {
            u32::try_from(number(key, of_header)?).map_err(|_| wrong(format!("has a `{key}` beyond 32 bits")))
        };
        let link = || {
            records.get(&b"linkpath"[..]).cloned().or_else(|| header.link_name_bytes().map(|name| name.into_owned()))
        };
        let target = || link().filter(|name| !name.is_empty()).ok_or_else(|| wrong("is a link to nothing".to_owned()));
        let device = || {
            let part = |part: std::io::Result<Option<u32>>| match part {
                Ok(part) => Ok(part.unwrap_or(0)),
                Err(error) => Err(wrong(format!("has a wrong device number: {error}"))),
            };
            Ok(DeviceNumber { major: part(header.device_major())?, minor: part(header.device_minor())? })
        };
        let found = match kind {
            // Before POSIX a directory was a file whose name ends with a slash.
            b'0' | 0 | b'7' if name.ends_with(b"/") => TarKind::Directory,
            b'0' | 0 | b'7' => {
                let size = number("size", Ok(size))?;
                TarKind::Regular(self.pass(size, offset)?, size)
            }
            b'1' => TarKind::HardLink(target()?),
            b'2' => TarKind::Symlink(target()?),
            b'3' => TarKind::CharacterDevice(device()?),
            b'4' => TarKind::BlockDevice(device()?),
            b'5' => TarKind::Directory,
            b'6' => TarKind::Fifo,
            other => return Err(wrong(format!("has the unknown type `{}`", char::from(other).escape_default()))),
        };
        let modified = match records.get(&b"mtime"[..]) {
            Some(text) => time(text).ok_or_else(|| wrong("has a wrong record `mtime`".to_owned()))?,
            None => Timestamp {
                seconds: seconds(header).ok_or_else(|| wrong("has a wrong time".to_owned()))?,
                nanoseconds: 0,
            },
        };
        let mode = header.mode().map_err(|error| wrong(format!("has a wrong mode: {error}")))? & 0o7777;
        let (user, group) = (owner("uid", header.uid())?, owner("gid", header.gid())?);
        let xattr = |(key, value): (&Vec<u8>, &Vec<u8>)| {
            Some(Xattr { name: key.strip_prefix(XATTR)?.to_vec(), value: value.clone() })
        };
        let xattrs = records.iter().filter_map(xattr).collect();
        Ok(TarEntry { offset, kind: found, mode, user, group, modified, xattrs, name })
    }
}

fn damaged(offset: u64, problem: impl ToString) -> OciProblem {
    OciProblem::Tar { offset, problem: problem.to_string() }
}

/// Records of pax: each is its length in decimal, a blank, key, `=`, value and a newline. The length counts all of it, so a value may hold
/// newlines, as capabilities do.
fn pax_records(mut bytes: &[u8], offset: u64, to: &mut Records) -> Result<(), OciProblem> {
    while !bytes.is_empty() {
        let (record, rest) = pax_record(bytes).ok_or_else(|| damaged(offset, "a pax record has a wrong form"))?;
        let (key, value) = record;
        // An empty value takes a record back.
        if value.is_empty() && !key.starts_with(XATTR) {
            to.remove(key);
        } else {
            to.insert(key.to_vec(), value.to_vec());
        }
        bytes = rest;
    }
    Ok(())
}

/// Whether a record of pax decides something about one entry that no other entry has.
fn is_of_one_entry(key: &[u8]) -> bool {
    matches!(key, b"path" | b"linkpath" | b"size") || key.starts_with(XATTR) || key.starts_with(SPARSE)
}

type KeyAndValue<'bytes> = (&'bytes [u8], &'bytes [u8]);

fn pax_record(bytes: &[u8]) -> Option<(KeyAndValue<'_>, &[u8])> {
    let blank = bytes.iter().take(20).position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(bytes.get(..blank)?).ok()?.parse().ok()?;
    let record = bytes.get(blank.checked_add(1)?..length)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some(((record.get(..equals)?, record.get(equals.checked_add(1)?..)?), bytes.get(length..)?))
}

/// The time of a header: GNU's form is signed, and older than 1970 then.
fn seconds(header: &Header) -> Option<i64> {
    header.mtime().ok().map(|seconds| seconds as i64)
}

/// Seconds in decimal, perhaps with a sign and a fraction.
fn time(text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().ok()?;
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let nanoseconds: u32 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    // -1.25 s is 1.25 s before 1970.
    if whole.starts_with('-') && nanoseconds > 0 {
        return Some(Timestamp { seconds: seconds.checked_sub(1)?, nanoseconds: 1_000_000_000 - nanoseconds });
    }
    Some(Timestamp { seconds, nanoseconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_pax_may_hold_newlines() {
        let mut records = Records::new();
        pax_records(b"10 a=b\nc=\n6 b=c\n", 0, &mut records).unwrap();
        assert_eq!(
            records.into_iter().collect::<Vec<_>>(),
            [(b"a".to_vec(), b"b\nc=".to_vec()), (b"b".to_vec(), b"c".to_vec())]
        );
        for wrong in [&b"6 a=b"[..], b"99 a=b\n", b"a=b\n", b"5 ab\n", b"0 a=b\n", b"18446744073709551615 a=b\n"] {
            assert!(pax_records(wrong, 0, &mut Records::new()).is_err(), "{wrong:?}");
        }
    }

    /// A header with its content, padded.
    fn part(kind: u8, content: &[u8]) -> Vec<u8> {
        let mut header = Header::new_ustar();
        header.set_path("a").unwrap();
        header.set_size(content.len() as u64);
        header.set_entry_type(tar::EntryType::new(kind));
        header.set_cksum();
        let mut part = [header.as_bytes(), content].concat();
        part.resize(part.len().next_multiple_of(BLOCK as usize), 0);
        part
    }

    fn read(tar: &[Vec<u8>]) -> Result<Vec<TarEntry>, OciProblem> {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &tar.concat()).unwrap();
        let mut entries = Entries::new(&file).unwrap();
        std::iter::from_fn(|| entries.next().transpose()).collect()
    }

    #[test]
    fn global_headers_hold_what_all_entries_may_share() {
        let tar =
            [part(b'g', b"10 uid=70\n13 comment=x\n"), part(b'0', b"x"), part(b'g', b"7 uid=\n"), part(b'0', b"x")];
        let users: Vec<u32> = read(&tar).unwrap().iter().map(|entry| entry.user).collect();
        assert_eq!(users, [70, 0]);
        // Else each of many entries could have the same long attribute or link.
        for record in [&b"24 SCHILY.xattr.user=xx\n"[..], b"14 linkpath=b\n", b"10 path=b\n", b"9 size=4\n"] {
            let text = read(&[part(b'g', record), part(b'0', b"x")]).unwrap_err().to_string();
            assert!(text.contains("a global header has the record `"), "{text}");
        }
        let long = format!("75 uid={:067}\n", 1);
        assert!(read(&[part(b'g', long.as_bytes()), part(b'0', b"x")]).is_err());
    }

    #[test]
    fn headers_of_one_entry_are_few() {
        let with = |count: usize| {
            let mut tar: Vec<Vec<u8>> =
                (0..count).map(|number| part(b'x', format!("8 k{number:02}=v\n").as_bytes())).collect();
            tar.push(part(b'0', b"x"));
            read(&tar)
        };
        assert_eq!(with(MOST_HEADERS - 1).unwrap().len(), 1);
        assert!(with(MOST_HEADERS).unwrap_err().to_string().contains("headers for one entry"));
    }

    #[test]
    fn times_have_signs_and_fractions() {
        let at = |seconds, nanoseconds| Some(Timestamp { seconds, nanoseconds });
        for (text, expected) in [
            ("12", at(12, 0)),
            ("12.5", at(12, 500_000_000)),
            ("12.123456789999", at(12, 123_456_789)),
            ("-1.25", at(-2, 750_000_000)),
            ("-3", at(-3, 0)),
            ("1.2e", None),
            ("", None),
        ] {
            assert_eq!(time(text.as_bytes()), expected, "{text}");
        }
    }
}
