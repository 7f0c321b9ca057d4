//! Tests that cannot run here print why; where skipping is forbidden (CI), they fail.

use rustix::process::geteuid;

/// The variable that forbids skipping, whatever its value.
const NO_SKIP: &str = "COLDSTART_NO_SKIP";

/// Prints why a test is skipped on this machine. The caller returns right after it.
///
/// # Panics
/// Where `COLDSTART_NO_SKIP` forbids it.
#[track_caller]
pub fn skip(reason: &str) {
    assert!(std::env::var_os(NO_SKIP).is_none(), "must not be skipped: {reason}");
    eprintln!("skipped: {reason}");
}

/// Whether this is root; without, the test is skipped.
#[track_caller]
pub fn is_root() -> bool {
    let root = geteuid().is_root();
    if !root {
        skip("needs root");
    }
    root
}
