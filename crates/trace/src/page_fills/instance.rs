//! Our own tracefs instance: tracepoints are recorded into a private buffer.
//!
//! Tracefs is mounted detached (`fsmount`), so there is nothing to unmount, and other users of it are not affected. Not obvious:
//! instances outlive their creator, so those of dead recorders are removed first. A lock on its directory shows that a recorder
//! lives. Its process number would not: a recorder in another container has a number that means nothing here, and an instance that
//! is removed while its recorder uses it makes Linux 6.18 write through a null pointer.
//! Source: `Documentation/trace/ftrace.rst`.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use coldstart_sys::tracefs::mount_detached;

use super::line::Line;

/// Memory for all CPUs' ring buffers together, in KiB, on machines with so many of them that [`MOST_KIB`] each would be too much.
const ALL_KIB: usize = 256 << 10;
/// Each CPU's part of the ring buffer, in KiB: 32 to 50 bytes an event, so 160,000 events fit at least.
const MOST_KIB: usize = 8 << 10;
/// The smallest useful part, in KiB: 20,000 events.
const LEAST_KIB: usize = 1 << 10;
/// Only instances of this name are locked. Others (`coldstart-4711-0`) are not ours to remove.
const PREFIX: &str = "coldstart-locked-";

/// The number of the next instance of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// An instance; removed when dropped.
#[derive(Debug)]
pub(crate) struct Instance {
    directory: PathBuf,
    /// The directory, locked while we live.
    _lock: File,
    /// Keeps the detached mount alive; the path goes through it.
    _mount: OwnedFd,
}

impl Instance {
    /// Creates an instance whose events carry `CLOCK_MONOTONIC`; none is enabled yet.
    ///
    /// # Errors
    /// Fails without `CAP_SYS_ADMIN`, or where the kernel has no tracefs.
    pub(crate) fn make() -> io::Result<Self> {
        let mount = mount_detached()?;
        let instances = coldstart_host::descriptor::path(&mount).join("instances");
        let (directory, lock) = make_locked(&instances)?;
        let instance = Self { directory, _lock: lock, _mount: mount };
        let processors = instance.processors().count().max(1);
        let part = (ALL_KIB / processors).clamp(LEAST_KIB, MOST_KIB);
        instance.write("trace_clock", "mono")?;
        instance.write("buffer_size_kb", &part.to_string())?;
        // Events must be lost at the end, where losses are counted, not at the beginning.
        instance.write("options/overwrite", "0")?;
        Ok(instance)
    }

    /// Enables a tracepoint (`filemap/mm_filemap_fault`).
    ///
    /// # Errors
    /// `NotFound` where the kernel has no such tracepoint.
    pub(crate) fn enable(&self, event: &str) -> io::Result<()> {
        // The event's directory is looked at first, because writing would try to create a file.
        let switch = Path::new("events").join(event).join("enable");
        fs::metadata(self.directory.join(&switch))?;
        fs::write(self.directory.join(switch), "1")
    }

    /// Restricts recording to `thread`, and all processes and threads that it creates from now on; may be called again for
    /// further ones. Recording resumes, if it was stopped. The number is that of the initial PID namespace.
    ///
    /// # Errors
    /// Fails when tracefs refuses.
    pub(crate) fn follow(&self, thread: u32) -> io::Result<()> {
        self.write("options/event-fork", "1")?;
        // Appended: otherwise `O_TRUNC` would clear the existing list.
        let mut list = fs::OpenOptions::new().append(true).open(self.directory.join("set_event_pid"))?;
        io::Write::write_all(&mut list, thread.to_string().as_bytes())?;
        self.write("tracing_on", "1")
    }

    /// Stops recording; the buffer keeps its content.
    ///
    /// # Errors
    /// Fails when tracefs refuses.
    pub(crate) fn stop(&self) -> io::Result<()> {
        self.write("tracing_on", "0")
    }

    /// Writes into one of the instance's files.
    ///
    /// # Errors
    /// Fails when tracefs refuses.
    pub(crate) fn write(&self, file: &str, value: &str) -> io::Result<()> {
        fs::write(self.directory.join(file), value)
    }

    /// Passes each event recorded so far to `see`, in order of time. The text is read, not the raw buffer: after a cold start of
    /// LibreOffice that takes about a second on a busy machine, and the program has ended by then.
    ///
    /// # Errors
    /// Fails when tracefs cannot be read.
    pub(crate) fn read(&self, see: &mut dyn FnMut(&Line<'_>)) -> io::Result<()> {
        // Bytes, because a thread's name may contain any bytes.
        let text = fs::read(self.directory.join("trace"))?;
        for line in text.split(|byte| *byte == b'\n') {
            if let Some(line) = Line::parse(&String::from_utf8_lossy(line)) {
                see(&line);
            }
        }
        Ok(())
    }

    /// How many events did not fit the buffer.
    pub(crate) fn lost(&self) -> u64 {
        let lost_of = |stats: String| {
            stats
                .lines()
                .filter_map(|line| line.split_once(": "))
                .filter(|(name, _)| matches!(*name, "overrun" | "commit overrun" | "dropped events"))
                .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
                .sum::<u64>()
        };
        self.processors().filter_map(|cpu| fs::read_to_string(cpu.join("stats")).ok()).map(lost_of).sum()
    }

    fn processors(&self) -> impl Iterator<Item = PathBuf> {
        fs::read_dir(self.directory.join("per_cpu")).into_iter().flatten().flatten().map(|cpu| cpu.path())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // A directory in tracefs is removed as a whole; errors are not reported.
        let _ = self.write("events/enable", "0");
        let _ = fs::remove_dir(&self.directory);
    }
}

/// A new directory, locked, after the instances of killed recorders have been removed.
fn make_locked(instances: &Path) -> io::Result<(PathBuf, File)> {
    // One at a time: an instance that is made but not locked yet would be taken for one of a killed recorder.
    let turn = File::open(instances)?;
    turn.lock()?;
    remove_orphans(instances);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let directory = instances.join(format!("{PREFIX}{}-{number}", std::process::id()));
        match fs::create_dir(&directory) {
            Ok(()) => {
                let lock = File::open(&directory)?;
                lock.lock()?;
                return Ok((directory, lock));
            }
            // A process of another container has our number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes the instances of recorders that were killed: nobody holds their lock.
fn remove_orphans(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if is_ours && File::open(entry.path()).is_ok_and(|directory| is_free(&directory)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Whether nobody holds the lock. An error counts as a holder.
fn is_free(directory: &File) -> bool {
    match directory.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules need locks and directories only, so that no kernel is at risk when they are wrong.
    #[test]
    fn only_instances_whose_recorder_is_gone_are_removed() {
        let instances = tempfile::tempdir().unwrap();
        let foreign = instances.path().join("coldstart-4711-0");
        fs::create_dir(&foreign).unwrap();
        let (dead, lock) = make_locked(instances.path()).unwrap();
        drop(lock);
        let (living, _lock) = make_locked(instances.path()).unwrap();
        assert!(!dead.exists(), "the instance of a dead recorder stays");
        let (another, _other) = make_locked(instances.path()).unwrap();
        assert!(living.exists() && another.exists() && foreign.exists());
    }

    #[test]
    fn a_name_that_another_container_uses_is_left_to_it() {
        let instances = tempfile::tempdir().unwrap();
        let next = NEXT.load(Ordering::Relaxed);
        let taken = instances.path().join(format!("{PREFIX}{}-{next}", std::process::id()));
        fs::create_dir(&taken).unwrap();
        let lock = File::open(&taken).unwrap();
        lock.lock().unwrap();
        let (directory, _lock) = make_locked(instances.path()).unwrap();
        assert_ne!(directory, taken);
        assert!(taken.exists() && directory.exists());
    }

    #[test]
    fn instances_in_tracefs_are_locked() {
        if !coldstart_testing::is_root() {
            return coldstart_testing::skip("only root may make tracefs instances");
        }
        let one = Instance::make().unwrap();
        let two = Instance::make().unwrap();
        assert!(one.directory.exists() && two.directory.exists());
        let mine = File::open(&one.directory).unwrap();
        assert!(!is_free(&mine));
        let place = two.directory.clone();
        drop(two);
        assert!(!place.exists());
    }
}
