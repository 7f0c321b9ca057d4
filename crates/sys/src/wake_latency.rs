//! Keeping idle processors awake, so that a woken process runs at once.
//!
//! Waking an idle processor takes longer than most of the work that follows: some 40 µs in a
//! virtual machine, as much as 100 µs in a deep sleep of a real one. The kernel keeps all processors ready as long as a process
//! holds `/dev/cpu_dma_latency` open with a limit in it (`Documentation/power/pm_qos_interface.rst`), and resets this when
//! the holder ends in any way.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

const LIMITS: &str = "/dev/cpu_dma_latency";

/// While it lives, no idle processor of the machine sleeps. They poll instead, which takes power.
#[derive(Debug)]
pub struct Awake {
    _held: File,
}

/// Keeps all processors awake.
///
/// # Errors
/// `EACCES` without root, `ENOENT` where the kernel has no such limits or a container hides them.
pub fn keep_processors_awake() -> io::Result<Awake> {
    let mut held = OpenOptions::new().write(true).open(LIMITS)?;
    // The longest permitted wake-up time, in microseconds: a native 32-bit number.
    held.write_all(&0i32.to_ne_bytes())?;
    Ok(Awake { _held: held })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn limit() -> i32 {
        let mut bytes = [0; 4];
        File::open(LIMITS).unwrap().read_exact(&mut bytes).unwrap();
        i32::from_ne_bytes(bytes)
    }

    #[test]
    fn the_limit_stands_while_it_is_held() {
        if let Err(error) = OpenOptions::new().read(true).write(true).open(LIMITS) {
            coldstart_testing::skip(&format!("{LIMITS}: {error}"));
            return;
        }
        let awake = keep_processors_awake().unwrap();
        assert_eq!(limit(), 0);
        // Another process may hold one as well, so the value afterwards is unknown.
        drop(awake);
        assert!(limit() >= 0);
    }
}
