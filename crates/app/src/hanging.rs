//! A file system that does not answer: noticed, so that a command does not hang for ever.
//!
//! Such a call cannot be ended, not even by Ctrl-C, except by the end of the process. So a thread looks at our own calls, and reports
//! one that does not return; its caller then ends the process. A request that a FUSE daemon has taken and does not answer keeps even
//! a killed process alive (`request_wait_answer` in `fs/fuse/dev.c`), so the report names the file.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use coldstart_host::process::ProcessFiles;
use coldstart_launch::Interrupt;
use coldstart_profile::printable;
use coldstart_sys::file_calls::FileCall;

use crate::error::AppError;

/// How long a call may take. A healthy disk answers within seconds, also under load.
const LIMIT: Duration = Duration::from_secs(30);
/// As [`LIMIT`], once a signal has arrived that the waiting thread cannot heed.
const LIMIT_AFTER_SIGNAL: Duration = Duration::from_secs(3);
/// How often the calls are looked at. A look takes a fraction of a millisecond.
const INTERVAL: Duration = Duration::from_secs(1);

/// Looks at our calls until it is dropped.
#[derive(Debug)]
pub struct HangWatch {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HangWatch {
    /// Begins to look at the calls of this process, and of the processes of our own program that it has started. `report` gets the
    /// error for a call that does not return, once; it should end this process. Without a thread nothing is watched.
    pub fn start(interrupt: Option<Interrupt>, report: impl FnOnce(AppError) + Send + 'static) -> Self {
        Self::with_limits(interrupt, [LIMIT, LIMIT_AFTER_SIGNAL], INTERVAL, report)
    }

    fn with_limits(
        interrupt: Option<Interrupt>,
        [limit, limit_after_signal]: [Duration; 2],
        interval: Duration,
        report: impl FnOnce(AppError) + Send + 'static,
    ) -> Self {
        let (end, ended) = channel();
        let look = move || {
            let mut waiting: Vec<(FileCall, Instant)> = Vec::new();
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let now = Instant::now();
                let since =
                    |call: &FileCall| waiting.iter().find(|(known, _)| known == call).map_or(now, |known| known.1);
                let calls = own_calls().into_iter().map(|call| (since(&call), call));
                waiting = calls.map(|(since, call)| (call, since)).collect();
                let is_signalled = interrupt.as_ref().is_some_and(|interrupt| interrupt.signal().is_some());
                let limit = if is_signalled { limit_after_signal } else { limit };
                if let Some((call, since)) = waiting.iter().find(|(_, since)| now.duration_since(*since) >= limit) {
                    report(in_words(call.file(), now.duration_since(*since)));
                    return;
                }
            }
        };
        let thread = Builder::new().name("hang-watch".to_owned()).spawn(look).ok();
        Self { end: Some(end), thread }
    }
}

impl Drop for HangWatch {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed.
            let _ = thread.join();
        }
    }
}

/// Those of this process, and of its children that run the same program: workers.
fn own_calls() -> Vec<FileCall> {
    let own = ProcessFiles::own();
    let program = own.program().ok();
    let is_ours = |child: &u32| program.is_some() && ProcessFiles::of(*child).program().ok() == program;
    let workers = own.children_of_first_thread().into_iter().filter(is_ours);
    std::iter::once(std::process::id()).chain(workers).flat_map(FileCall::of).collect()
}

fn in_words(file: Option<PathBuf>, since: Duration) -> AppError {
    let file = file.map_or_else(|| "a file".to_owned(), |file| format!("`{}`", printable(&file)));
    let waited = AppError::new(format!("no answer for {file} from its file system in {} s", since.as_secs()));
    let advice = "a network or FUSE file system hangs (`findmnt` lists them): repair it, end its daemon, or unmount it with \
                  `umount --force`; this process may not be able to end before";
    AppError::hinted(waited, advice)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::mpsc;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_call_that_does_not_return_is_reported_by_its_file() {
        let directory = tempfile::tempdir().unwrap();
        // Opening a FIFO for reading waits for its writer, as a file system that hangs lets wait.
        let fifo = directory.path().join("hung");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let path = fifo.clone();
        let reader = std::thread::spawn(move || File::open(path).map(drop));
        let (send, receive) = mpsc::channel();
        let limits = [Duration::from_millis(50); 2];
        let watch =
            HangWatch::with_limits(None, limits, Duration::from_millis(5), move |error| send.send(error).unwrap());
        let told = receive.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(told.sentence().contains(&*fifo.to_string_lossy()), "{}", told.sentence());
        drop(watch);
        drop(File::options().write(true).open(&fifo).unwrap());
        reader.join().unwrap().unwrap();
    }

    #[test]
    fn it_ends_when_nothing_hangs() {
        let (send, receive) = mpsc::channel();
        drop(HangWatch::start(None, move |_| send.send(()).unwrap()));
        assert!(receive.recv().is_err(), "nothing was reported");
    }
}
