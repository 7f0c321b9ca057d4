//! The architectures that the audit library is built for.

use coldstart_elf::{ByteOrder, Class, Encoding};

/// An architecture that the audit library is built for, with `cargo xtask gen`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// x86-64 with 64-bit addresses.
    X86_64,
    /// 32-bit x86.
    I386,
    /// 64-bit ARM, little-endian.
    Aarch64,
    /// 32-bit ARM, little-endian, from version 7 on.
    Arm,
    /// 64-bit RISC-V.
    Riscv64,
    /// IBM Z, the only big-endian one.
    S390x,
}

impl Architecture {
    /// All architectures.
    pub const ALL: [Self; 6] = [Self::X86_64, Self::I386, Self::Aarch64, Self::Arm, Self::Riscv64, Self::S390x];

    /// The architecture of a program with this encoding; none without an audit library for it.
    pub fn of(encoding: Encoding) -> Option<Self> {
        // `e_machine` of the psABIs.
        Some(match (encoding.machine, encoding.class, encoding.byte_order) {
            (62, Class::Elf64, ByteOrder::Little) => Self::X86_64,
            (3, Class::Elf32, ByteOrder::Little) => Self::I386,
            (183, Class::Elf64, ByteOrder::Little) => Self::Aarch64,
            (40, Class::Elf32, ByteOrder::Little) => Self::Arm,
            (243, Class::Elf64, ByteOrder::Little) => Self::Riscv64,
            (22, Class::Elf64, ByteOrder::Big) => Self::S390x,
            _ => return None,
        })
    }

    /// Its name in `stubs/audit/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86-64",
            Self::I386 => "i386",
            Self::Aarch64 => "aarch64",
            Self::Arm => "arm",
            Self::Riscv64 => "riscv64",
            Self::S390x => "s390x",
        }
    }

    /// The library without a table, as built: the loader accepts it and finds nothing to audit.
    pub fn template(self) -> &'static [u8] {
        match self {
            Self::X86_64 => include_bytes!("../../../../stubs/audit/x86-64.so"),
            Self::I386 => include_bytes!("../../../../stubs/audit/i386.so"),
            Self::Aarch64 => include_bytes!("../../../../stubs/audit/aarch64.so"),
            Self::Arm => include_bytes!("../../../../stubs/audit/arm.so"),
            Self::Riscv64 => include_bytes!("../../../../stubs/audit/riscv64.so"),
            Self::S390x => include_bytes!("../../../../stubs/audit/s390x.so"),
        }
    }
}
