//! Programs for which some system calls fail, as on an older kernel or in a container.

/// A Python program: `filtered.py NUMBER[:ARGUMENT]=ERROR... -- PROGRAM [ARGUMENT...]`.
pub(crate) const FILTERED: &str = include_str!("filtered.py");

/// `cachestat` fails as before Linux 6.5 (`ENOSYS`).
pub(crate) const WITHOUT_CACHESTAT: &str = "451=38";
