//! How short memory, disk and processors are: pressure stall information (`Documentation/accounting/psi.rst`).

use std::path::Path;

use crate::text::{decimal, words};

/// Stalls for lack of memory.
pub const MEMORY: &str = "/proc/pressure/memory";
/// Stalls that wait for disks.
pub const DISK: &str = "/proc/pressure/io";

/// The share of the last 10 seconds in which at least one task was stalled, in percent.
///
/// `None` without such a line, as where the kernel was built or started without PSI.
pub fn some_of_10_seconds(pressure: &[u8]) -> Option<f64> {
    let line = pressure.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"some "))?;
    let share: f64 = decimal(words(line).find_map(|word| word.strip_prefix(b"avg10="))?)?;
    (0.0..=100.0).contains(&share).then_some(share)
}

/// As [`some_of_10_seconds`], of this machine now: [`MEMORY`] or [`DISK`].
pub fn now(file: impl AsRef<Path>) -> Option<f64> {
    some_of_10_seconds(&std::fs::read(file).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_some_is_read() {
        let text = b"some avg10=1.25 avg60=0.00 avg300=0.00 total=7\nfull avg10=3.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(some_of_10_seconds(text), Some(1.25));
        for text in
            [&b""[..], b"full avg10=3.00", b"some avg60=1", b"some avg10=nan", b"some avg10=-1", b"some avg10=101"]
        {
            assert_eq!(some_of_10_seconds(text), None, "{text:?}");
        }
    }
}
