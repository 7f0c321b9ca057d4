//! An entry in the words of `ldconfig -p`.

use super::{CacheEntry, EntryHwcap, LdSoCache};

impl LdSoCache {
    /// The line `ldconfig -p` prints for an entry of this cache, without its leading tab (`print_entry` in elf/cache.c).
    pub fn describe(&self, entry: &CacheEntry<'_>) -> String {
        let kind = match entry.flags & 0xff {
            0 => "libc4",
            1 => "ELF",
            2 => "libc5",
            3 => "libc6",
            _ => "unknown",
        };
        let abi = match entry.flags & 0xff00 {
            0x0100 | 0x0400 | 0x0500 | 0x0700 => ",64bit",
            0x0200 => ",IA-64",
            0x0300 => ",x86-64",
            0x0600 => ",N32",
            0x0800 => ",x32",
            0x0900 => ",hard-float",
            0x0a00 => ",AArch64",
            0x0b00 => ",soft-float",
            0x0c00 => ",nan2008",
            0x0d00 => ",N32,nan2008",
            0x0e00 => ",64bit,nan2008",
            0x0f00 | 0x1100 => ",soft-float",
            0x1000 | 0x1200 => ",double-float",
            0 => "",
            _ => ",unknown",
        };
        let hwcap = match entry.required() {
            EntryHwcap::Any => String::new(),
            EntryHwcap::Level { index, .. } => {
                let name = usize::try_from(index).ok().and_then(|index| self.hwcaps().nth(index));
                let name = name.map(String::from_utf8_lossy).unwrap_or_default();
                format!(", hwcap: \"{name}\"")
            }
            EntryHwcap::Bits(bits) => format!(", hwcap: {bits:#018x}"),
        };
        let (name, path) = (String::from_utf8_lossy(entry.name), String::from_utf8_lossy(entry.path));
        format!("{name} ({kind}{abi}{hwcap}) => {path}")
    }
}
