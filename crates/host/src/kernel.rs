//! The running kernel: its release, this boot, and its settings (`proc_sys(5)`).

use std::fmt;

use crate::text::decimal;

/// The kernel's release, such as `6.1.0-18-amd64`.
pub const RELEASE: &str = "/proc/sys/kernel/osrelease";
/// The kinds of file systems that it has, built in or loaded, one in a line, behind `nodev` if it needs no device (`proc_filesystems(5)`).
pub const FILE_SYSTEMS: &str = "/proc/filesystems";
/// A random identifier of the current boot.
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Directory of the settings; most containers mount it read-only.
pub const SETTINGS: &str = "/proc/sys";

/// Settings by their paths (`Documentation/admin-guide/sysctl/`).
pub mod settings {
    /// Writing here drops clean pages, directory entries and inodes (`vm.rst`).
    pub const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
    /// Whether unprivileged processes may use `userfaultfd` (`vm.rst`).
    pub const UNPRIVILEGED_USERFAULTFD: &str = "/proc/sys/vm/unprivileged_userfaultfd";
    /// What unprivileged processes may measure (`kernel.rst`).
    pub const PERF_EVENT_PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
    /// KiB of memory that a user may lock for perf's buffers (`kernel.rst`).
    pub const PERF_EVENT_MLOCK_KB: &str = "/proc/sys/kernel/perf_event_mlock_kb";
    /// Address space layout randomization (`kernel.rst`).
    pub const RANDOMIZE_VA_SPACE: &str = "/proc/sys/kernel/randomize_va_space";
    /// Which processes may trace which (`LSM/Yama.rst`); missing without Yama.
    pub const PTRACE_SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";
    /// User namespaces that the caller's may contain (`user.rst`); 0 forbids them.
    pub const MAX_USER_NAMESPACES: &str = "/proc/sys/user/max_user_namespaces";
    /// Mount namespaces that the caller's user namespace may contain (`user.rst`).
    pub const MAX_MNT_NAMESPACES: &str = "/proc/sys/user/max_mnt_namespaces";
    /// Whether unprivileged processes may create user namespaces; only Debian's and derived kernels have it.
    pub const UNPRIVILEGED_USERNS_CLONE: &str = "/proc/sys/kernel/unprivileged_userns_clone";
    /// Whether AppArmor withholds capabilities in user namespaces of unconfined programs; only Ubuntu's kernels have it.
    pub const APPARMOR_RESTRICT_USERNS: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
    /// Directory entries: all, unused, ... (`fs.rst`).
    pub const DENTRY_STATE: &str = "/proc/sys/fs/dentry-state";
    /// Inodes: all, unused (`fs.rst`).
    pub const INODE_NR: &str = "/proc/sys/fs/inode-nr";
}

/// The name of a setting, one of [`settings`], as sysctl(8) takes it: `kernel.perf_event_paranoid`.
pub fn setting_name(setting: &str) -> String {
    setting.strip_prefix(SETTINGS).unwrap_or(setting).trim_start_matches('/').replace('/', ".")
}

/// The first number of a setting, one of [`settings`]; `None` where it cannot be read or is not a number.
pub fn number(setting: &str) -> Option<i64> {
    numbers(setting).first().copied()
}

/// All numbers of a setting, one of [`settings`]; none where it cannot be read.
pub fn numbers(setting: &str) -> Vec<i64> {
    let text = std::fs::read(setting).unwrap_or_default();
    crate::text::words(&text).map_while(decimal).collect()
}

/// The kernel's release; `None` without `/proc`.
pub fn release() -> Option<String> {
    let text = std::fs::read_to_string(RELEASE).ok()?;
    Some(text.trim().to_owned()).filter(|release| !release.is_empty())
}

/// The identity of a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BootId(pub [u8; 16]);

impl BootId {
    /// This boot; `None` where the kernel does not provide it.
    pub fn here() -> Option<Self> {
        Self::parse(&std::fs::read(BOOT_ID).ok()?)
    }

    /// From 32 hexadecimal digits with hyphens anywhere between them.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let digits: Vec<u8> = text.trim_ascii().iter().copied().filter(|&byte| byte != b'-').collect();
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        u128::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok().map(|number| Self(number.to_be_bytes()))
    }
}

impl fmt::Display for BootId {
    /// As the kernel writes it: groups of 8, 4, 4, 4 and 12 digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let hyphen = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn this_boot_is_told_as_the_kernel_writes_it() {
        let text = std::fs::read_to_string(BOOT_ID).unwrap();
        assert_eq!(BootId::here().unwrap().to_string(), text.trim());
        assert_eq!(BootId::parse(b"00112233-4455-6677-8899-aabbccddeeff\n").unwrap().0[..3], [0, 0x11, 0x22]);
        for text in [&b""[..], b"what", b"0011", b"+0112233-4455-6677-8899-aabbccddeeff", &[b'a'; 33]] {
            assert_eq!(BootId::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn this_kernel_is_told() {
        let name = rustix::system::uname();
        assert_eq!(release().unwrap(), name.release().to_str().unwrap());
        assert!(number(settings::RANDOMIZE_VA_SPACE).is_some_and(|value| (0..=2).contains(&value)));
        assert!(numbers(settings::INODE_NR).len() >= 2);
        assert_eq!(number("/no/such/setting"), None);
        assert_eq!(setting_name(settings::PTRACE_SCOPE), "kernel.yama.ptrace_scope");
    }

    proptest! {
        #[test]
        fn identifiers_come_back(bytes in any::<[u8; 16]>()) {
            prop_assert_eq!(BootId::parse(BootId(bytes).to_string().as_bytes()), Some(BootId(bytes)));
        }
    }
}
