//! Names of system calls: each architecture has its own numbers.
//!
//! A 64-bit kernel also runs 32-bit programs, whose calls have other numbers, so one process may use two tables one
//! after the other: the architecture comes with each call. The tables are text files beside this one.

use std::fmt;

use coldstart_sys::tracing::{ARCHITECTURE_AARCH64, ARCHITECTURE_I386, ARCHITECTURE_RISCV64, ARCHITECTURE_X86_64};

/// The name of a call; its number if the name is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallName {
    /// As in the kernel's table, such as `newfstatat`.
    Known(&'static str),
    /// A call newer than our tables, or of an architecture without a table here.
    Unknown {
        /// `AUDIT_ARCH_*` (`linux/audit.h`).
        architecture: u32,
        /// As in the register; `u64::MAX` for a call that a seccomp filter skipped.
        number: u64,
    },
}

impl CallName {
    /// The name in the kernel's table, if known.
    pub fn known(self) -> Option<&'static str> {
        match self {
            Self::Known(name) => Some(name),
            Self::Unknown { .. } => None,
        }
    }
}

/// `newfstatat`, or `call 4711`.
impl fmt::Display for CallName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(name) => formatter.write_str(name),
            Self::Unknown { number, .. } => write!(formatter, "call {}", number.cast_signed()),
        }
    }
}

/// Set in the number of an x32 call (`__X32_SYSCALL_BIT`).
const X32_BIT: u64 = 0x4000_0000;
/// The first number of x32's own calls.
const FIRST_X32_NUMBER: u64 = 512;

/// The tables, read once.
#[derive(Debug)]
pub(super) struct Numbers {
    x86_64: Vec<Option<&'static str>>,
    x32: Vec<Option<&'static str>>,
    i386: Vec<Option<&'static str>>,
    generic: Vec<Option<&'static str>>,
}

impl Numbers {
    pub(super) fn new() -> Self {
        Self {
            x86_64: table(include_str!("numbers/x86_64.txt")),
            x32: table(include_str!("numbers/x32.txt")),
            i386: table(include_str!("numbers/i386.txt")),
            generic: table(include_str!("numbers/generic.txt")),
        }
    }

    pub(super) fn name(&self, architecture: u32, number: u64) -> CallName {
        let (table, index) = match architecture {
            ARCHITECTURE_X86_64 => match number.checked_sub(X32_BIT) {
                Some(number) if number < FIRST_X32_NUMBER => (&self.x86_64, number),
                Some(number) => (&self.x32, number),
                None => (&self.x86_64, number),
            },
            // The whole register, of which a 32-bit program's call uses the lower half.
            ARCHITECTURE_I386 => (&self.i386, number & 0xffff_ffff),
            ARCHITECTURE_AARCH64 | ARCHITECTURE_RISCV64 => (&self.generic, number),
            _ => return CallName::Unknown { architecture, number },
        };
        let name = usize::try_from(index).ok().and_then(|index| table.get(index).copied().flatten());
        name.map_or(CallName::Unknown { architecture, number }, CallName::Known)
    }
}

/// Names by number, with gaps.
fn table(text: &'static str) -> Vec<Option<&'static str>> {
    let mut names = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let Some(first) = words.next().and_then(|first| first.parse::<u16>().ok()) else { continue };
        names.resize(usize::from(first), None);
        names.extend(words.map(Some));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_architecture_has_its_own_numbers() {
        let numbers = Numbers::new();
        let cases = [
            (ARCHITECTURE_X86_64, 0, "read"),
            (ARCHITECTURE_X86_64, 257, "openat"),
            (ARCHITECTURE_X86_64, 262, "newfstatat"),
            (ARCHITECTURE_X86_64, 332, "statx"),
            (ARCHITECTURE_X86_64, 451, "cachestat"),
            (ARCHITECTURE_X86_64, X32_BIT, "read"),
            (ARCHITECTURE_X86_64, X32_BIT + 520, "execve"),
            (ARCHITECTURE_I386, 5, "open"),
            (ARCHITECTURE_I386, 0xffff_ffff_0000_0000 + 295, "openat"),
            (ARCHITECTURE_I386, 383, "statx"),
            (ARCHITECTURE_AARCH64, 56, "openat"),
            (ARCHITECTURE_AARCH64, 79, "newfstatat"),
            (ARCHITECTURE_AARCH64, 221, "execve"),
            (ARCHITECTURE_RISCV64, 291, "statx"),
        ];
        for (architecture, number, name) in cases {
            assert_eq!(numbers.name(architecture, number), CallName::Known(name));
        }
    }

    #[test]
    fn unknown_calls_show_their_numbers() {
        let numbers = Numbers::new();
        for (architecture, number) in [(ARCHITECTURE_X86_64, 5000), (ARCHITECTURE_X86_64, u64::MAX), (7, 1)] {
            assert_eq!(numbers.name(architecture, number), CallName::Unknown { architecture, number });
        }
        assert_eq!(numbers.name(ARCHITECTURE_X86_64, 5000).to_string(), "call 5000");
        assert_eq!(numbers.name(ARCHITECTURE_X86_64, u64::MAX).to_string(), "call -1");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_table_agrees_with_the_system_s_headers() {
        let numbers = Numbers::new();
        let Ok(header) = std::fs::read_to_string("/usr/include/x86_64-linux-gnu/asm/unistd_64.h") else {
            coldstart_testing::skip("no kernel headers");
            return;
        };
        let mut compared = 0;
        for line in header.lines() {
            let Some((name, number)) = line.strip_prefix("#define __NR_").and_then(|line| line.split_once(' ')) else {
                continue;
            };
            if let CallName::Known(ours) = numbers.name(ARCHITECTURE_X86_64, number.trim().parse().unwrap()) {
                assert_eq!(ours, name);
                compared += 1;
            }
        }
        assert!(compared > 300);
    }
}
