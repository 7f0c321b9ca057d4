//! Ready when a line of standard output matches: for servers and tools that say when they are up.
//!
//! Pitfall: a program that writes to a pipe instead of a terminal usually buffers
//! 4 KiB before it writes at all, so its line may come late or never (`stdbuf -oL` helps).

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use regex::bytes::Regex;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::{Look, Watch};
use crate::error::LaunchError;
use crate::output::Output;

/// Only the last part of a longer line is matched: output without line ends must not fill the memory.
const LONGEST_LINE: usize = 64 * 1024;
/// Size of one read: that of a pipe's buffer.
const CHUNK: usize = 64 * 1024;
/// Reads in a row: a program that writes faster than we read must not keep us from the clock, from Ctrl-C, or from
/// ending it. Together they empty the largest pipe that a user may have (1 MiB, `fs.pipe-max-size`), so that no output of
/// an ended program is lost.
const READS_AT_ONCE: usize = 17;

pub(crate) struct StdoutWatch {
    matcher: LineMatcher,
    output: Output,
    pipe: Option<ChildStdout>,
    forward: Forward,
    buffer: Vec<u8>,
}

enum Forward {
    Nowhere,
    OurStdout,
    File(File),
}

impl StdoutWatch {
    pub(crate) fn new(pattern: Regex, output: Output) -> Self {
        let matcher = LineMatcher { pattern, line: Vec::with_capacity(CHUNK), matched: false };
        Self { matcher, output, pipe: None, forward: Forward::Nowhere, buffer: vec![0; CHUNK] }
    }

    /// Reads what is there, within bounds; closes the pipe at its end.
    fn read_available(&mut self) {
        for _ in 0..READS_AT_ONCE {
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read(&mut self.buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let chunk = self.buffer.get(..count).unwrap_or_default();
                    self.matcher.take(chunk);
                    self.forward.write(chunk);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

impl Watch for StdoutWatch {
    fn prepare(&mut self, command: &mut Command) -> Result<(), LaunchError> {
        command.stdout(Stdio::piped());
        self.forward = match &self.output {
            Output::Null => Forward::Nowhere,
            Output::Inherit => Forward::OurStdout,
            // The launch has emptied it for standard error; both append, as to a terminal.
            Output::File(path) => Forward::File(
                File::options().append(true).create(true).open(path).map_err(|source| LaunchError::Redirection {
                    stream: "output",
                    path: path.clone(),
                    source,
                })?,
            ),
        };
        Ok(())
    }

    fn started(&mut self, child: &mut Child) -> Result<(), LaunchError> {
        let Some(pipe) = child.stdout.take() else { return Ok(()) };
        let unblock = |pipe: &ChildStdout| fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK);
        unblock(&pipe).map_err(|error| LaunchError::system("read the program's standard output", error))?;
        self.pipe = Some(pipe);
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    fn look(&mut self, look: Look<'_>) -> Result<Option<Instant>, LaunchError> {
        if look.descriptor_ready {
            self.read_available();
        }
        Ok(self.matcher.matched.then_some(look.woken))
    }

    fn drain(&mut self) {
        self.read_available();
    }
}

impl Forward {
    fn write(&mut self, chunk: &[u8]) {
        let result = match self {
            Self::Nowhere => Ok(()),
            Self::OurStdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(chunk).and_then(|()| stdout.flush())
            }
            Self::File(file) => file.write_all(chunk),
        };
        if result.is_err() {
            // The reader has closed (`| head`): the program continues, as it would with its output closed by us.
            *self = Self::Nowhere;
        }
    }
}

/// Matches a pattern line by line in chunked output.
struct LineMatcher {
    pattern: Regex,
    /// The unfinished last line.
    line: Vec<u8>,
    matched: bool,
}

impl LineMatcher {
    fn take(&mut self, mut chunk: &[u8]) {
        while !self.matched
            && let Some(end) = chunk.iter().position(|&byte| byte == b'\n')
        {
            let (line, rest) = chunk.split_at(end);
            self.append(line);
            self.line.pop_if(|byte| *byte == b'\r');
            self.matched = self.pattern.is_match(&self.line);
            self.line.clear();
            chunk = rest.get(1..).unwrap_or_default();
        }
        if !self.matched && !chunk.is_empty() {
            self.append(chunk);
            self.matched = self.pattern.is_match(&self.line);
        }
    }

    fn append(&mut self, part: &[u8]) {
        self.line.extend_from_slice(part);
        if let Some(excess) = self.line.len().checked_sub(LONGEST_LINE) {
            self.line.drain(..excess);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matcher(pattern: &str) -> LineMatcher {
        LineMatcher { pattern: Regex::new(pattern).unwrap(), line: Vec::new(), matched: false }
    }

    #[test]
    fn lines_are_matched_one_by_one() {
        let mut lines = matcher("^ready$");
        lines.take(b"not ready\nready, not\nread");
        assert!(!lines.matched);
        lines.take(b"y\r\nmore");
        assert!(lines.matched);
    }

    #[test]
    fn the_unfinished_line_counts() {
        let mut lines = matcher("login: ");
        lines.take(b"host log");
        assert!(!lines.matched);
        lines.take(b"in: ");
        assert!(lines.matched);
    }

    #[test]
    fn output_without_end_leaves_time_for_others() {
        let endless = std::os::fd::OwnedFd::from(File::open("/dev/zero").unwrap());
        let mut watch = StdoutWatch::new(Regex::new("ready").unwrap(), Output::Null);
        watch.pipe = Some(ChildStdout::from(endless));
        watch.read_available();
        assert!(watch.pipe.is_some() && !watch.matcher.matched);
    }

    #[test]
    fn endless_lines_stay_bounded_and_still_match() {
        let mut lines = matcher("ready");
        for _ in 0..100 {
            lines.take(&[b'x'; 50_000]);
        }
        assert!(lines.line.len() <= LONGEST_LINE && !lines.matched);
        lines.take(b"rea");
        lines.take(b"dy");
        assert!(lines.matched);
    }

    proptest! {
        #[test]
        fn chunk_borders_make_no_difference(text in "[ab\n]{0,60}", cuts in prop::collection::vec(0usize..60, 0..6)) {
            // Unanchored at the end, so that an unfinished line cannot match early what the whole does not.
            let mut whole = matcher("^ab*a");
            whole.take(text.as_bytes());
            let mut pieces = matcher("^ab*a");
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            for pair in cuts.windows(2) {
                pieces.take(&text.as_bytes()[pair[0]..pair[1]]);
            }
            prop_assert_eq!(whole.matched, pieces.matched);
        }
    }
}
