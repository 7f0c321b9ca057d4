//! Architecture-specific values: directories, `$LIB`, and the flags of cache entries.
//!
//! The default directories are compiled into the loader and stored in no file; `ld.so --list-diagnostics` prints
//! those of the running machine as `path.system_dirs`.

use crate::{Class, ObjectFacts};

/// An architecture, as far as the loader's tables distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Debian's name for it, part of its library directories (<https://wiki.debian.org/Multiarch/Tuples>).
    pub multiarch: &'static str,
    /// `flags` of matching cache entries (`_dl_cache_check_flags` in sysdeps/.../dl-cache.h).
    pub cache_flags: &'static [u32],
    /// Whether upstream glibc installs its libraries in `lib64`.
    pub lib64: bool,
}

// Type of library in the low byte, required ABI above it (sysdeps/generic/ldconfig.h).
const LIBC6: u32 = 3;
const ELF: u32 = 1;

const fn machine(multiarch: &'static str, cache_flags: &'static [u32], lib64: bool) -> Machine {
    Machine { multiarch, cache_flags, lib64 }
}

impl Machine {
    /// The architecture of an object; none if it is not in the tables.
    pub fn of(facts: &ObjectFacts) -> Option<Self> {
        let (wide, little) = (facts.class == Class::Bits64, facts.little_endian);
        Some(match (facts.machine, wide, little) {
            // EM_X86_64; narrow is x32.
            (62, true, true) => machine("x86_64-linux-gnu", &[0x0303], true),
            (62, false, true) => machine("x86_64-linux-gnux32", &[0x0803], false),
            // EM_386
            (3, false, true) => machine("i386-linux-gnu", &[LIBC6, ELF], false),
            // EM_AARCH64
            (183, true, true) => machine("aarch64-linux-gnu", &[0x0a03], true),
            // EM_ARM; EF_ARM_ABI_FLOAT_HARD. Older objects without the flag count as either.
            (40, false, true) if facts.flags & 0x400 != 0 => machine("arm-linux-gnueabihf", &[0x0903, LIBC6], false),
            (40, false, true) => machine("arm-linux-gnueabi", &[0x0b03, LIBC6], false),
            // EM_RISCV; EF_RISCV_FLOAT_ABI_DOUBLE
            (243, true, true) if facts.flags & 0x6 == 0x4 => machine("riscv64-linux-gnu", &[0x1003], true),
            (243, true, true) => machine("riscv64-linux-gnu", &[0x0f03], true),
            // EM_PPC64
            (21, true, true) => machine("powerpc64le-linux-gnu", &[0x0503], true),
            (21, true, false) => machine("powerpc64-linux-gnu", &[0x0503], true),
            // EM_S390
            (22, true, false) => machine("s390x-linux-gnu", &[0x0403], true),
            // EM_LOONGARCH; EF_LOONGARCH_ABI_DOUBLE_FLOAT
            (258, true, true) if facts.flags & 0x7 == 0x3 => machine("loongarch64-linux-gnu", &[0x1203], true),
            (258, true, true) => machine("loongarch64-linux-gnusf", &[0x1103], true),
            // EM_MIPS, the ABI with 64-bit addresses; EF_MIPS_NAN2008
            (8, true, little) => {
                let flags: &[u32] = if facts.flags & 0x400 != 0 { &[0x0e03] } else { &[0x0703] };
                machine(if little { "mips64el-linux-gnuabi64" } else { "mips64-linux-gnuabi64" }, flags, true)
            }
            _ => return None,
        })
    }

    /// Debian's `$LIB`.
    pub fn lib(self) -> Vec<u8> {
        format!("lib/{}", self.multiarch).into_bytes()
    }

    /// The default directories of Debian's loader and its derivatives.
    pub fn multiarch_directories(self) -> Vec<Vec<u8>> {
        let name = self.multiarch;
        let directories =
            [format!("/lib/{name}"), format!("/usr/lib/{name}"), "/lib".to_owned(), "/usr/lib".to_owned()];
        directories.into_iter().map(String::into_bytes).collect()
    }

    /// The default directories of a loader built from upstream sources, as on Fedora, SUSE and Arch.
    pub fn plain_directories(self) -> Vec<Vec<u8>> {
        let name = if self.lib64 { "lib64" } else { "lib" };
        vec![format!("/{name}").into_bytes(), format!("/usr/{name}").into_bytes()]
    }
}
