//! Guesses the type of a file that is not ELF, for error messages.

use std::fmt;

/// A file type, guessed from the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Empty.
    Empty,
    /// Begins with the ELF magic number.
    Elf,
    /// `#!`: the kernel starts the named interpreter.
    Script,
    /// A Unix archive: static libraries, and Debian packages.
    Archive,
    /// A thin archive, which only refers to its members.
    ThinArchive,
    /// Compressed by gzip, xz, zstd or bzip2.
    Compressed,
    /// A zip file, as are jar and omni.ja.
    Zip,
    /// Windows or UEFI executable.
    Pe,
    /// Mach-O, of macOS.
    MachO,
    /// LLVM bitcode, as in `.o` files made for link-time optimisation.
    Bitcode,
    /// Text: a linker script in place of a library, for example.
    Text,
    /// None of these.
    Unknown,
}

impl FileKind {
    /// Inspects the first bytes of a file; 512 are more than enough.
    pub fn of(start: &[u8]) -> Self {
        const MAGIC: [(&[u8], FileKind); 15] = [
            (b"\x7fELF", FileKind::Elf),
            (b"#!", FileKind::Script),
            (b"!<arch>\n", FileKind::Archive),
            (b"!<thin>\n", FileKind::ThinArchive),
            (b"\x1f\x8b", FileKind::Compressed),
            (b"\xfd7zXZ\0", FileKind::Compressed),
            (b"\x28\xb5\x2f\xfd", FileKind::Compressed),
            (b"BZh", FileKind::Compressed),
            (b"PK\x03\x04", FileKind::Zip),
            (b"MZ", FileKind::Pe),
            (b"\xcf\xfa\xed\xfe", FileKind::MachO),
            (b"\xce\xfa\xed\xfe", FileKind::MachO),
            (b"\xca\xfe\xba\xbe", FileKind::MachO),
            (b"BC\xc0\xde", FileKind::Bitcode),
            (b"\xde\xc0\x17\x0b", FileKind::Bitcode),
        ];
        if start.is_empty() {
            return Self::Empty;
        }
        if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| start.starts_with(magic)) {
            return *kind;
        }
        let head = start.get(..512).unwrap_or(start);
        let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~') || *byte >= 0x80;
        if head.iter().all(is_text) { Self::Text } else { Self::Unknown }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "an empty file",
            Self::Elf => "an ELF file",
            Self::Script => "a script",
            Self::Archive => "an archive (a static library or a package)",
            Self::ThinArchive => "a thin archive",
            Self::Compressed => "a compressed file",
            Self::Zip => "a zip file",
            Self::Pe => "a Windows or UEFI executable",
            Self::MachO => "a Mach-O file or Java class",
            Self::Bitcode => "LLVM bitcode",
            Self::Text => "text",
            Self::Unknown => "unknown file type",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::FileKind;

    #[test]
    fn files_are_known_by_their_first_bytes() {
        assert_eq!(FileKind::of(b""), FileKind::Empty);
        assert_eq!(FileKind::of(b"\x7fELF\x02"), FileKind::Elf);
        assert_eq!(FileKind::of(b"#!/bin/sh\n"), FileKind::Script);
        assert_eq!(FileKind::of(b"!<arch>\ndebian-binary"), FileKind::Archive);
        assert_eq!(FileKind::of(b"/* GNU ld script */ GROUP ( libc.so.6 )\n"), FileKind::Text);
        assert_eq!(FileKind::of(b"\x7fEL\0"), FileKind::Unknown);
    }
}
