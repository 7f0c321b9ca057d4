//! Turns: for tests that change machine-wide state, and those that this would disturb.

use std::fs::{File, OpenOptions};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::{build_directory, within};

/// More than the total time of all tests of one name.
const LONGEST_QUEUE: Duration = Duration::from_secs(1500);

/// A turn, until it is dropped. It excludes other processes and other threads.
#[derive(Debug)]
pub struct Turn {
    _lock: File,
}

impl Turn {
    /// Waits until no other test has a turn of this name.
    ///
    /// # Panics
    /// After 25 minutes.
    #[track_caller]
    pub fn alone(name: &str) -> Self {
        Self::take(name, FlockOperation::NonBlockingLockExclusive)
    }

    /// Waits until no other test has a turn of this name [alone](Self::alone).
    ///
    /// # Panics
    /// After 25 minutes.
    #[track_caller]
    pub fn shared(name: &str) -> Self {
        Self::take(name, FlockOperation::NonBlockingLockShared)
    }

    #[track_caller]
    fn take(name: &str, operation: FlockOperation) -> Self {
        let directory = build_directory().join("turns");
        std::fs::create_dir_all(&directory).unwrap();
        let lock = OpenOptions::new().create(true).append(true).open(directory.join(name)).unwrap();
        let taken = || match flock(&lock, operation) {
            Ok(()) => true,
            Err(Errno::WOULDBLOCK | Errno::INTR) => false,
            Err(error) => panic!("cannot lock `{name}`: {error}"),
        };
        assert!(within(LONGEST_QUEUE, taken), "no turn `{name}` within {} s", LONGEST_QUEUE.as_secs());
        Self { _lock: lock }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_alone_is_alone() {
        let name = "a-test-of-turns";
        let both = (Turn::shared(name), Turn::shared(name));
        let other = std::thread::spawn(move || Turn::alone(name));
        std::thread::sleep(Duration::from_millis(20));
        assert!(!other.is_finished());
        drop(both);
        other.join().unwrap();
    }
}
