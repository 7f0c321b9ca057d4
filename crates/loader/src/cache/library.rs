//! The properties of a file that `ldconfig` enters into a cache (elf/readelflib.c of glibc and its
//! architecture-specific versions).
//!
//! The flags of an entry follow from the architecture, the ELF class and bits of `e_flags`. Where these are
//! ambiguous, as on 32-bit x86, releases before 2.37 guess from the C library that a file needs.

use coldstart_elf::{ElfError, ElfFile, FileType, Notes, SegmentKind};

use crate::{Class, ObjectFacts};

/// `FLAG_ELF`, `FLAG_ELF_LIBC5` and `FLAG_ELF_LIBC6` of sysdeps/generic/ldconfig.h; the ABI is in the bits above.
const ELF: u32 = 1;
const LIBC5: u32 = 2;
const LIBC6: u32 = 3;
/// `GNU_PROPERTY_X86_ISA_1_NEEDED`.
const X86_ISA_NEEDED: u32 = 0xc000_8002;

/// A shared object as `ldconfig` sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The properties that the loader checks.
    pub facts: ObjectFacts,
    /// The processor level that its property note requires: 0 baseline or none, 1 to 3 for x86-64-v2 to v4.
    pub isa_level: u32,
}

/// Why a file is not entered into a cache.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLibrary {
    /// The path does not exist, or is a dangling link.
    #[error("no such file")]
    Missing,
    /// Not an ELF file; `libc.so` and the like are linker scripts.
    #[error("not an ELF file")]
    NotElf,
    /// An object file, a program at fixed addresses or a core dump.
    #[error("not a shared object")]
    NotShared,
    /// A static program or a debug file.
    #[error("no dynamic table")]
    NoDynamicTable,
    /// glibc has no flags for its architecture or ABI, or the cache is for another architecture.
    #[error("wrong architecture")]
    OtherMachine,
    /// Damaged.
    #[error("damaged: {0}")]
    Damaged(String),
    /// Unreadable.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

impl Library {
    /// Reads a file.
    ///
    /// # Errors
    /// The reason why `ldconfig` would skip it.
    pub fn read(bytes: &[u8]) -> Result<Self, NoLibrary> {
        let damaged = |error: ElfError| match error {
            ElfError::NotElf(_) => NoLibrary::NotElf,
            error => NoLibrary::Damaged(error.to_string()),
        };
        let file = ElfFile::parse(bytes).map_err(damaged)?;
        if file.header().file_type != FileType::Dynamic {
            return Err(NoLibrary::NotShared);
        }
        if file.segment(SegmentKind::Dynamic).is_none_or(|segment| segment.file_size == 0) {
            return Err(NoLibrary::NoDynamicTable);
        }
        let facts = ObjectFacts::of(&file).map_err(damaged)?;
        let isa_level = if matches!(facts.machine, 3 | 62) { isa_level(&file) } else { 0 };
        Ok(Self { facts, isa_level })
    }

    /// The flags of its entry, as glibc 2.`release` writes them; none for architectures and ABIs without flags.
    pub fn cache_flags(&self, release: u32) -> Option<u32> {
        let facts = &self.facts;
        let wide = facts.class == Class::Bits64;
        // EF_MIPS_NAN2008
        let nan2008 = facts.flags & 0x400 != 0;
        Some(match (facts.machine, wide) {
            // EM_X86_64, EM_IA_64
            (62, true) => 0x0300 | LIBC6,
            (62, false) => 0x0800 | LIBC6,
            (50, true) => 0x0200 | LIBC6,
            // EM_ARM; the EABI of version 5 marks hard and soft float. EM_AARCH64
            (40, false) if facts.flags >> 24 == 5 && facts.flags & 0x400 != 0 => 0x0900 | LIBC6,
            (40, false) if facts.flags >> 24 == 5 && facts.flags & 0x200 != 0 => 0x0b00 | LIBC6,
            (40, false) if facts.flags >> 24 == 5 => LIBC6,
            (183, true) => 0x0a00 | LIBC6,
            // EM_RISCV; only EF_RISCV_FLOAT_ABI (soft, double) and EF_RISCV_RVC are known to glibc.
            (243, _) if facts.flags & !0x7 != 0 => return None,
            (243, _) => match facts.flags & 0x6 {
                0 => 0x0f00 | LIBC6,
                4 => 0x1000 | LIBC6,
                _ => return None,
            },
            // EM_LOONGARCH; EF_LOONGARCH_ABI_MODIFIER_MASK
            (258, _) => match facts.flags & 0x7 {
                1 => 0x1100 | LIBC6,
                3 => 0x1200 | LIBC6,
                _ => return None,
            },
            // EM_PPC64, EM_S390, EM_SPARCV9
            (21, true) => 0x0500 | LIBC6,
            (22, true) => 0x0400 | LIBC6,
            (43, true) => 0x0100 | LIBC6,
            // EM_MIPS: the ABI with 64-bit addresses, n32 (EF_MIPS_ABI2), o32
            (8, true) => (if nan2008 { 0x0e00 } else { 0x0700 }) | LIBC6,
            (8, false) if facts.flags & 0x20 != 0 => (if nan2008 { 0x0d00 } else { 0x0600 }) | LIBC6,
            (8, false) if nan2008 => 0x0c00 | LIBC6,
            // Ambiguous types with one common flag: EM_SPARC and EM_SPARC32PLUS, EM_386, EM_68K, EM_MIPS, EM_PARISC,
            // EM_PPC, EM_S390, EM_ARM before EABI 5, EM_SH, EM_OPENRISC, EM_ARC, EM_NIOS2, EM_MICROBLAZE, EM_ARCV2,
            // EM_CSKY; EM_ALPHA.
            (2 | 3 | 4 | 8 | 15 | 18 | 20 | 22 | 40 | 42 | 92 | 93 | 113 | 189 | 195 | 252, false) | (0x9026, true) => {
                if release > 36 {
                    LIBC6
                } else {
                    self.guessed()
                }
            }
            _ => return None,
        })
    }

    /// The type that releases up to 2.36 guess: from the interpreter, then from the first C library in `DT_NEEDED`.
    fn guessed(&self) -> u32 {
        let interpreter = self.facts.interpreter.as_deref().unwrap_or_default();
        match interpreter {
            b"/lib/ld-linux.so.1" => return LIBC5,
            _ if interpreter.starts_with(b"/lib")
                && interpreter.split(|&byte| byte == b'/').next_back().is_some_and(|name| name.starts_with(b"ld")) =>
            {
                return LIBC6;
            }
            _ => {}
        }
        let known = |name: &Vec<u8>| match name.as_slice() {
            b"libc.so.6" | b"libm.so.6" | b"libc.so.6.1" | b"libm.so.6.1" => Some(LIBC6),
            b"libc.so.5" | b"libm.so.5" => Some(LIBC5),
            _ => None,
        };
        self.facts.needed.iter().find_map(known).unwrap_or(ELF)
    }
}

/// The highest required level in the property note. As in glibc, only the first property note counts, and properties
/// must be in ascending order.
fn isa_level(file: &ElfFile<'_>) -> u32 {
    let encoding = file.encoding();
    let words = || {
        let segment =
            file.segment(SegmentKind::Property).filter(|segment| segment.alignment == encoding.word_size())?;
        let bytes = file.file_bytes("the property note", segment.offset, segment.file_size).ok()?;
        let mut notes = Notes::new(bytes, segment.offset, segment.alignment, encoding).ok()?;
        let note = notes.by_ref().map_while(Result::ok).find(|note| note.properties(encoding).next().is_some())?;
        let properties = note.properties(encoding).map_while(Result::ok);
        let mut rising = 0;
        let needed = properties
            .take_while(|property| std::mem::replace(&mut rising, property.kind) <= property.kind)
            .find(|property| property.kind >= X86_ISA_NEEDED)?;
        let needed = (needed.kind == X86_ISA_NEEDED && needed.bytes.len() == 4).then_some(needed)?;
        encoding.u32(needed.bytes)
    };
    words().and_then(u32::checked_ilog2).unwrap_or(0)
}
