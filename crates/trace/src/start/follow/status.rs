//! What the kernel says of a thread in `/proc/PID/status` (`proc_pid_status(5)`), read once and asked several times.

/// The text, as it was when it was read; empty for a thread that is gone.
pub(super) struct Status(String);

impl Status {
    pub(super) fn of(thread: u32) -> Self {
        Self(std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default())
    }

    /// A field by its name, without the blanks around it.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.0.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(field, _)| *field == name).map(|(_, value)| value.trim())
    }

    /// A field that is a decimal number.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        self.field(name)?.parse().ok()
    }

    /// Whether a signal is in a set: in hexadecimal, and the first has bit 0.
    pub(super) fn has_signal(&self, set: &str, signal: i32) -> bool {
        let set = self.field(set).and_then(|set| u64::from_str_radix(set, 16).ok()).unwrap_or(0);
        set >> signal.saturating_sub(1) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let status = Status("Name:\tPid: 5\nPid:\t7\nNSpid:\t8\nSigIgn:\t0000000000000010\n".to_owned());
        assert_eq!((status.number("Pid"), status.number("NSpid"), status.number("id")), (Some(7), Some(8), None));
        assert_eq!(status.field("SigIgn"), Some("0000000000000010"));
        assert_eq!([4, 5, 6].map(|signal| status.has_signal("SigIgn", signal)), [false, true, false]);
        assert!(!status.has_signal("SigBlk", 5));
        assert_eq!(Status::of(std::process::id()).number("Tgid"), Some(std::process::id()));
        assert_eq!(Status::of(u32::MAX).field("Name"), None);
    }
}
