//! `/proc/PID/status`: lines of `Name:\tvalue` (`proc_pid_status(5)`).

use crate::text::{decimal, field, hexadecimal, words};

/// A snapshot of the text, for several queries; without any field if there is no such process.
///
/// The first line contains the program's name, which may be any bytes but a line end (the kernel escapes that).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status(Vec<u8>);

impl Status {
    /// From the bytes of the file.
    pub fn new(text: Vec<u8>) -> Self {
        Self(text)
    }

    /// A field by its whole name, without the blanks around its value.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        field(&self.0, name)
    }

    /// A field that is one decimal number, such as `PPid`.
    pub fn number(&self, name: &str) -> Option<u32> {
        decimal(self.field(name)?)
    }

    /// The process that a thread belongs to (`Tgid`).
    pub fn process(&self) -> Option<u32> {
        self.number("Tgid")
    }

    /// Its tracer (`TracerPid`); `None` if it is not traced.
    pub fn tracer(&self) -> Option<u32> {
        self.number("TracerPid").filter(|&tracer| tracer != 0)
    }

    /// The process's PIDs in its PID namespaces, the innermost last (`NStgid`).
    pub fn numbers_in_namespaces(&self) -> impl Iterator<Item = u32> {
        words(self.field("NStgid").unwrap_or_default()).map_while(decimal)
    }

    /// The effective user (second number of `Uid`).
    pub fn effective_user(&self) -> Option<u32> {
        decimal(words(self.field("Uid")?).nth(1)?)
    }

    /// A set of signals such as `SigIgn`, or of capabilities such as `CapEff`: signal n is bit n - 1.
    pub fn set(&self, name: &str) -> Option<u64> {
        hexadecimal(self.field(name)?)
    }

    /// Whether a signal is in a set (`SigIgn`, `SigCgt`, `SigBlk`); `false` if unknown.
    pub fn has_signal(&self, set: &str, signal: i32) -> bool {
        let bit = u32::try_from(signal).ok().and_then(|signal| signal.checked_sub(1));
        bit.and_then(|bit| self.set(set)?.checked_shr(bit)).is_some_and(|set| set & 1 != 0)
    }

    /// Whether it has `PR_SET_NO_NEW_PRIVS` set.
    pub fn has_no_new_privileges(&self) -> bool {
        self.number("NoNewPrivs") == Some(1)
    }

    /// Seccomp mode (`Seccomp`): 0 none, 1 strict, 2 filter.
    pub fn seccomp_mode(&self) -> Option<u32> {
        self.number("Seccomp")
    }

    /// The number of seccomp filters (`Seccomp_filters`, Linux 5.9).
    pub fn seccomp_filters(&self) -> Option<u32> {
        self.number("Seccomp_filters")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::ProcessFiles;
    use proptest::prelude::*;

    const TEXT: &[u8] =
        b"Name:\t\xffPid: 5\nTgid:\t6\nPid:\t7\nTracerPid:\t0\nUid:\t1\t2\t3\t4\nNSpid:\t8\nNStgid:\t6\t1\n\
        SigBlk:\t0000000000000000\nSigIgn:\t0000000000000010\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let status = Status::new(TEXT.to_vec());
        assert_eq!((status.number("Pid"), status.number("NSpid"), status.number("id")), (Some(7), Some(8), None));
        assert_eq!((status.process(), status.tracer(), status.effective_user()), (Some(6), None, Some(2)));
        assert_eq!(status.numbers_in_namespaces().collect::<Vec<_>>(), [6, 1]);
        assert_eq!([4, 5, 6].map(|signal| status.has_signal("SigIgn", signal)), [false, true, false]);
        assert!(!status.has_signal("SigBlk", 5) && !status.has_signal("SigCgt", 5));
        assert!([-1, 0, 65, i32::MAX].iter().all(|&signal| !status.has_signal("SigIgn", signal)));
        assert!(status.has_no_new_privileges());
        assert_eq!((status.seccomp_mode(), status.seccomp_filters()), (Some(2), Some(3)));
        assert_eq!(Status::new(b"TracerPid:\t9\n".to_vec()).tracer(), Some(9));
    }

    #[test]
    fn this_process_is_told() {
        let own = ProcessFiles::own().status();
        assert_eq!(own.process(), Some(std::process::id()));
        assert_eq!(own.effective_user(), Some(rustix::process::geteuid().as_raw()));
        assert_eq!(own.numbers_in_namespaces().next(), Some(std::process::id()));
        assert!(own.set("CapEff").is_some() && own.set("SigCgt").is_some());
        assert_eq!(ProcessFiles::of(u32::MAX).status(), Status::default());
    }

    proptest! {
        #[test]
        fn a_name_says_nothing(name in prop::collection::vec(any::<u8>().prop_filter("a line end is escaped", |byte| *byte != b'\n'), 0..20)) {
            let status = Status::new([b"Name:\t", &*name, b"\nTgid:\t6\n"].concat());
            prop_assert_eq!(status.process(), Some(6));
        }
    }
}
