//! Keeping idle processors from sleeping, so that whoever is woken runs at once.
//!
//! A processor with nothing to do is put to sleep, and waking it takes longer than most of what the woken one does: some 40 µs in a
//! virtual machine, as much as 100 µs in a deep sleep of a real one. The kernel keeps all of them ready for as long as somebody
//! holds `/dev/cpu_dma_latency` open with a limit in it (`Documentation/power/pm_qos_interface.rst`), and forgets that by itself when
//! the holder ends, however it does.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

const LIMITS: &str = "/dev/cpu_dma_latency";

/// While it lives, no idle processor of the machine sleeps. They poll instead, and take the power for that.
#[derive(Debug)]
pub struct Awake {
    _held: File,
}

/// Keeps all processors awake.
///
/// # Errors
/// `EACCES` without root, `ENOENT` where the kernel has no such limits or a container does not show them.
pub fn keep_processors_awake() -> io::Result<Awake> {
    let mut held = OpenOptions::new().write(true).open(LIMITS)?;
    // The longest that waking may take, in microseconds: a native 32-bit number.
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
        // Somebody else may hold one as well: what it is afterwards is theirs to say.
        drop(awake);
        assert!(limit() >= 0);
    }
}
