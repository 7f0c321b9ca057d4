//! Archives that libraries read, in a process of their own. A panic there, memory or a stack at its end is a problem of that archive, and
//! the survey goes on.
//!
//! The process has the archive as its standard input and answers on its standard output: frames, each a line of JSON, behind that of
//! a member the member's bytes. Nothing is believed: what comes counts against the limits here, too.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use coldstart_sys::ends_with_us::end_with_us;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

use super::deb::PORTION;
use super::{ArchiveError, Bytes, Format, Member, PackageName, Receiver, Room, Scratch};

/// The first argument of a program that reads an archive so.
pub const ARGUMENT: &str = "--read-archive";
/// Bytes of memory for one archive. The tables of a squashfs image with a million files take about 1 GiB.
const MEMORY: u64 = 4 << 30;
/// Seconds of processor time for one archive.
const TIME: u64 = 3600;
/// Bytes of a frame's line: names are shorter than `PATH_MAX`, and escapes take six bytes for one.
const LONGEST_LINE: u64 = 1 << 16;

#[derive(Debug, Serialize, Deserialize)]
enum Frame {
    Package(PackageName),
    Member { name: String, bytes: Option<u64> },
    Failed(String),
    Done,
}

/// As [`super::members`], by `program`.
///
/// # Errors
/// As there, and if the process ends before its answer does.
pub(crate) fn members(
    program: &Path,
    archive: &Bytes,
    scratch: &Scratch,
    room: &mut Room,
    named: &mut dyn FnMut(PackageName),
    receiver: Receiver<'_>,
) -> Result<(), ArchiveError> {
    let mut reader = Reader::start(program, archive, scratch, room).map_err(ArchiveError::Io)?;
    loop {
        match reader.frame()? {
            Some(Frame::Package(package)) => named(package),
            Some(Frame::Member { name, bytes }) => {
                room.take_file()?;
                let bytes = bytes.map(|length| reader.bytes(length, scratch, room)).transpose()?;
                if !receiver(Member { name, bytes }) {
                    return Err(ArchiveError::Interrupted);
                }
            }
            Some(Frame::Failed(message)) => return Err(ArchiveError::Apart(message)),
            Some(Frame::Done) => return Ok(()),
            None => return Err(reader.died()),
        }
    }
}

/// The process, which ends with this at the latest.
struct Reader {
    child: Child,
    answer: BufReader<ChildStdout>,
}

impl Reader {
    fn start(program: &Path, archive: &Bytes, scratch: &Scratch, room: &Room) -> io::Result<Self> {
        let Range { start, end } = archive.range;
        let (files, bytes) = room.left();
        let mut command = Command::new(program);
        command.arg(ARGUMENT).args([start as u64, end as u64, files, bytes].map(|number| number.to_string()));
        command
            .arg(scratch.directory())
            .stdin(archive.file().try_clone()?)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = end_with_us(&mut command).spawn()?;
        let answer = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { child, answer: BufReader::with_capacity(PORTION, answer) })
    }

    /// The next frame; `None` if there is no whole one.
    fn frame(&mut self) -> Result<Option<Frame>, ArchiveError> {
        let mut line = Vec::new();
        self.answer.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(ArchiveError::Io)?;
        Ok(serde_json::from_slice(&line).ok())
    }

    fn bytes(&mut self, length: u64, scratch: &Scratch, room: &mut Room) -> Result<Bytes, ArchiveError> {
        let bytes = scratch.bytes(&mut self.answer.by_ref().take(length), room)?;
        match bytes.get().len() as u64 == length {
            true => Ok(bytes),
            false => Err(self.died()),
        }
    }

    fn died(&mut self) -> ArchiveError {
        let _ = self.child.kill();
        match self.child.wait() {
            Ok(status) => ArchiveError::Damaged(format!("its reader did not survive it ({status})")),
            Err(error) => ArchiveError::Io(error),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the archive at standard input as these arguments behind [`ARGUMENT`] say, and answers on standard output. The whole of the
/// process's work: its memory and time are limited from here on.
///
/// # Errors
/// Of wrong arguments, the limits and the answer. What is wrong with the archive is part of the answer.
pub fn serve(arguments: &[OsString]) -> io::Result<()> {
    let [start, end, files, bytes, scratch] = arguments else { return Err(io::ErrorKind::InvalidInput.into()) };
    let number =
        |word: &OsStr| word.to_str().and_then(|word| word.parse::<u64>().ok()).ok_or(io::ErrorKind::InvalidInput);
    let range = number(start)? as usize..number(end)? as usize;
    for (resource, most) in [(Resource::Data, MEMORY), (Resource::Cpu, TIME), (Resource::Core, 0)] {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    let archive = io::stdin().as_fd().try_clone_to_owned()?;
    let archive = Bytes::whole(Arc::new(archive.into()))?.part(range).ok_or(io::ErrorKind::InvalidInput)?;
    let format = Format::of(archive.get()).ok_or(io::ErrorKind::InvalidInput)?;
    let mut room = Room::of(number(files)?, number(bytes)?);
    let answer = std::cell::RefCell::new(Answer(BufWriter::with_capacity(PORTION, io::stdout().lock())));
    let mut failed = None;
    let done = super::members(
        format,
        &archive,
        &Scratch::new(PathBuf::from(scratch)),
        &mut room,
        &mut |package| {
            // If this fails, so does the next frame.
            let _ = answer.borrow_mut().frame(&Frame::Package(package));
        },
        &mut |member| match answer.borrow_mut().member(member) {
            Ok(()) => true,
            Err(error) => {
                failed = Some(error);
                false
            }
        },
    );
    if let Some(error) = failed {
        return Err(error);
    }
    let last = done.map_or_else(|error| Frame::Failed(error.to_string()), |()| Frame::Done);
    let mut answer = answer.into_inner();
    answer.frame(&last)?;
    answer.0.flush()
}

struct Answer<W>(W);

impl<W: Write> Answer<W> {
    fn frame(&mut self, frame: &Frame) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, frame)?;
        self.0.write_all(b"\n")
    }

    fn member(&mut self, Member { name, bytes }: Member) -> io::Result<()> {
        self.frame(&Frame::Member { name, bytes: bytes.as_ref().map(|bytes| bytes.get().len() as u64) })?;
        bytes.map_or(Ok(()), |bytes| self.0.write_all(bytes.get()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use coldstart_app::survey::Limits;

    use super::*;

    /// The names and sizes of the members that this answer has, and why no more.
    fn answered(answer: &str) -> (Vec<(String, Option<usize>)>, String) {
        let directory = tempfile::tempdir().unwrap();
        let [program, archive] = ["program", "archive"].map(|name| directory.path().join(name));
        fs::write(&archive, "hsqs").unwrap();
        fs::write(directory.path().join("answer"), answer).unwrap();
        fs::write(&program, "#!/bin/sh\nexec cat \"${0%program}answer\"\n").unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let mut found = Vec::new();
        let mut receive = |member: Member| {
            found.push((member.name, member.bytes.map(|bytes| bytes.get().len())));
            true
        };
        let limits = Limits { files: 2, bytes: 20, ..Limits::default() };
        let archive = Bytes::whole(Arc::new(fs::File::open(archive).unwrap())).unwrap();
        let scratch = Scratch::new(directory.path().to_owned());
        let done = members(&program, &archive, &scratch, &mut Room::new(&limits, 4), &mut |_| {}, &mut receive);
        (found, done.map_or_else(|error| error.to_string(), |()| String::new()))
    }

    #[test]
    fn an_answer_is_read_to_its_end() {
        let answer =
            "{\"Member\":{\"name\":\"a\",\"bytes\":4}}\nabc\n{\"Member\":{\"name\":\"b\",\"bytes\":null}}\n\"Done\"\n";
        assert_eq!(answered(answer), (vec![("a".to_owned(), Some(4)), ("b".to_owned(), None)], String::new()));
        assert_eq!(
            answered("{\"Failed\":\"it is damaged: no head\"}\n"),
            (Vec::new(), "it is damaged: no head".to_owned())
        );
    }

    #[test]
    fn a_reader_that_ends_or_lies_is_a_problem() {
        for answer in ["", "{\"Member\":{\"name\":\"a\",\"bytes\":4}}\nabc", "{\"Mem", "\0\n"] {
            let (_, problem) = answered(answer);
            assert!(problem.contains("its reader did not survive it ("), "{answer}: {problem}");
        }
        let member = "{\"Member\":{\"name\":\"a\",\"bytes\":null}}\n";
        assert_eq!(answered(&member.repeat(3)).1, "it has too many files");
        let large = format!("{{\"Member\":{{\"name\":\"a\",\"bytes\":21}}}}\n{}", "x".repeat(21));
        assert!(answered(&large).1.contains("far more than its size"));
    }
}
