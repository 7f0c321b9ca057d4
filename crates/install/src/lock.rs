//! One writer at a time: a lock on a file of the registry, which the kernel releases when its holder ends in whatever way.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;

use crate::error::InstallError;

/// How long another writer is waited for. Installing takes milliseconds; a holder that takes longer is stopped.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);
const NAME: &str = ".lock";

/// Held while installations are changed.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock of a registry, whose directory exists.
    pub(crate) fn take(registry: &Path) -> Result<Self, InstallError> {
        let path = registry.join(NAME);
        let failed = |errno: Errno| InstallError::io("lock", &path)(errno.into());
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = File::from(open(&path, flags, Mode::from_raw_mode(0o600)).map_err(failed)?);
        let begin = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) if begin.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {
                    return Err(InstallError::Busy { registry: registry.to_owned(), seconds: PATIENCE.as_secs() });
                }
                Err(errno) => return Err(failed(errno)),
            }
        }
    }
}
