//! Extended attributes, inline and shared.

use crate::entry::Xattr;

use super::Image;
use super::error::{ReadError, Result};
use super::inode::Inode;
use super::source::{ReadAt, u16_at, u32_at};

const HEADER: usize = 12;
const ENTRY_HEADER: usize = 4;
const WHAT: &str = "an extended attribute";

impl<S: ReadAt> Image<S> {
    /// The extended attributes of a file, sorted by name.
    ///
    /// # Errors
    /// [`ReadError`]: malformed or outside the image.
    pub fn xattrs(&self, inode: &Inode) -> Result<Vec<Xattr>> {
        let mut found = Vec::new();
        // At most 256 KiB.
        let size = usize::try_from(inode.xattrs).unwrap_or(0);
        if size == 0 {
            return Ok(found);
        }
        let start = inode.offset.saturating_add(inode.header);
        let mut bytes = vec![0; size];
        self.raw(WHAT, start, &mut bytes)?;
        let shared = usize::from(bytes.get(4).copied().unwrap_or(0));
        let inline = HEADER.saturating_add(shared.saturating_mul(4));
        let numbers = bytes.get(HEADER..inline);
        let numbers = numbers.ok_or(ReadError::malformed(WHAT, start, "it has more shared ones than room"))?;
        for number in numbers.as_chunks::<4>().0 {
            found.push(self.shared_xattr(u32::from_le_bytes(*number))?);
        }
        let mut rest = bytes.get(inline..).unwrap_or_default();
        while !rest.is_empty() {
            let offset = start.saturating_add(size.saturating_sub(rest.len()) as u64);
            let (xattr, length) = parse(rest, offset)?;
            found.push(xattr);
            rest = rest.get(length..).ok_or(ReadError::malformed(WHAT, offset, "its padding is cut"))?;
        }
        found.sort_unstable();
        if found.windows(2).any(|pair| matches!(pair, [one, other] if one.name == other.name)) {
            return Err(ReadError::malformed(WHAT, start, "a name is there twice"));
        }
        Ok(found)
    }

    /// A shared attribute by its number: its offset in the shared area, in words of 4 bytes.
    fn shared_xattr(&self, number: u32) -> Result<Xattr> {
        let offset = self.superblock.block_offset(self.superblock.xattr_block);
        let offset = offset.saturating_add(u64::from(number).saturating_mul(4));
        let mut header = [0; ENTRY_HEADER];
        self.raw(WHAT, offset, &mut header)?;
        let [name_length, ..] = header;
        let length = ENTRY_HEADER.saturating_add(name_length.into()).saturating_add(u16_at(&header, 2).into());
        // At most 65 KiB.
        let mut bytes = vec![0; length];
        self.raw(WHAT, offset, &mut bytes)?;
        parse(&bytes, offset).map(|(xattr, _)| xattr)
    }
}

/// The attribute at the beginning of some bytes, and its length with padding.
fn parse(bytes: &[u8], offset: u64) -> Result<(Xattr, usize)> {
    let cut = || ReadError::malformed(WHAT, offset, "it is longer than its room");
    let (header, rest) = bytes.split_at_checked(ENTRY_HEADER).ok_or_else(cut)?;
    let number = u32_at(header, 0).to_le_bytes();
    let [name_length, prefix, ..] = number;
    let prefix: &[u8] = match prefix {
        1 => b"user.",
        2 => b"system.posix_acl_access",
        3 => b"system.posix_acl_default",
        4 => b"trusted.",
        6 => b"security.",
        _ => {
            let value = prefix.into();
            return Err(ReadError::Unsupported { what: "a name space of extended attributes", value, offset });
        }
    };
    let value_length = u16_at(header, 2);
    let (name, rest) = rest.split_at_checked(name_length.into()).ok_or_else(cut)?;
    let (value, _) = rest.split_at_checked(value_length.into()).ok_or_else(cut)?;
    // Access lists are named by the prefix alone, all others have a name behind it.
    if name.contains(&0) || name.is_empty() != prefix.starts_with(b"system.") {
        return Err(ReadError::malformed(WHAT, offset, "its name is impossible"));
    }
    let length = ENTRY_HEADER.saturating_add(name.len()).saturating_add(value.len()).next_multiple_of(4);
    Ok((Xattr { name: [prefix, name].concat(), value: value.to_vec() }, length))
}
