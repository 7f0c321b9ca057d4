//! Archives: their files, one after the other, in memory as little as possible.
//!
//! | step | file |
//! |---|---|
//! | which archive it is | `format.rs` |
//! | what it may unpack to | `limits.rs` |
//! | Debian packages | `deb.rs` |
//! | RPM packages | `rpm.rs` |
//! | squashfs images, AppImages | `squashfs.rs` |
//! | what libraries read, in a process of its own | `apart.rs` |
//! | compressed streams, files without a name | `unpacked.rs` |
//!
//! Not obvious: nothing gets a name from an archive. What is unpacked lies in files without a name, and a member is a range of one. So
//! absolute names, `..` and links in an archive lead nowhere.

pub mod apart;
mod deb;
mod format;
mod limits;
mod rpm;
mod squashfs;
mod unpacked;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use coldstart_elf::ElfFile;
use coldstart_profile::printable;
use coldstart_sys::file_view::FileView;
use serde::{Deserialize, Serialize};

pub use format::Format;
pub use limits::{Exceeded, Room};
pub use unpacked::Scratch;

/// Bytes of a file that is mapped.
#[derive(Clone, Debug)]
pub struct Bytes {
    file: Arc<File>,
    view: Arc<FileView>,
    range: Range<usize>,
}

impl Bytes {
    /// Those of a whole file.
    ///
    /// # Errors
    /// As [`FileView::map`].
    pub fn whole(file: Arc<File>) -> io::Result<Self> {
        let view = FileView::map(&file)?;
        let range = 0..view.bytes().len();
        Ok(Self { file, view: Arc::new(view), range })
    }

    /// The file in which they are.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The bytes. They read as zeros if the file was truncated meanwhile; see [`Self::shrank`].
    pub fn get(&self) -> &[u8] {
        self.view.bytes().get(self.range.clone()).unwrap_or_default()
    }

    /// A part of them; `None` if it lies outside.
    pub fn part(&self, range: Range<usize>) -> Option<Self> {
        let start = self.range.start.checked_add(range.start)?;
        let end = self.range.start.checked_add(range.end)?;
        (start <= end && end <= self.range.end).then(|| Self {
            file: Arc::clone(&self.file),
            view: Arc::clone(&self.view),
            range: start..end,
        })
    }

    /// Whether the file was truncated by somebody.
    pub fn shrank(&self) -> bool {
        self.view.shrank()
    }
}

/// What an archive says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageName {
    /// The package's name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A regular file of an archive that is an ELF file or an archive itself, or any other by its name alone.
#[derive(Debug)]
pub struct Member {
    /// Its name as it is shown: relative, as installed below the root. Nothing is ever opened or created by it.
    pub name: String,
    /// Its bytes; `None` for other files.
    pub bytes: Option<Bytes>,
}

/// Why an archive cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The system's error on the scratch file or the archive.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// It is damaged.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It is beyond a limit.
    #[error("{0}")]
    Limit(&'static str),
    /// It is of a kind that is not known.
    #[error("{0}")]
    Unknown(String),
    /// What the process that read it ([`apart`]) says of it.
    #[error("{0}")]
    Apart(String),
    /// The receiver of the members ended the work.
    #[error("interrupted")]
    Interrupted,
}

impl From<Exceeded> for ArchiveError {
    fn from(Exceeded(what): Exceeded) -> Self {
        Self::Limit(what)
    }
}

impl ArchiveError {
    /// The error of a stream that is unpacked: a limit, no room, or damage.
    fn of_stream(error: io::Error) -> Self {
        if let Some(Exceeded(what)) = error.get_ref().and_then(|inner| inner.downcast_ref::<Exceeded>()) {
            return Self::Limit(what);
        }
        match error.kind() {
            io::ErrorKind::InvalidData
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::Other => Self::Damaged(error.to_string()),
            _ => Self::Io(error),
        }
    }
}

/// Receives the members; `false` ends the work.
pub type Receiver<'a> = &'a mut dyn FnMut(Member) -> bool;

/// Gives all members of an archive, in its order, and returns the package that it is.
///
/// # Errors
/// If it is damaged or beyond a limit; members before the damage have been given.
pub fn members(
    format: Format,
    archive: &Bytes,
    scratch: &Scratch,
    room: &mut Room,
    named: &mut dyn FnMut(PackageName),
    receiver: Receiver<'_>,
) -> Result<(), ArchiveError> {
    match format {
        Format::Deb => deb::members(archive.get(), scratch, room, named, receiver),
        Format::Rpm => rpm::members(archive.get(), scratch, room, named, receiver),
        Format::Squashfs => squashfs::members(archive, 0, scratch, room, receiver),
        Format::AppImage => {
            let runtime = ElfFile::parse(archive.get()).map_err(|error| ArchiveError::Damaged(error.to_string()))?;
            let image = usize::try_from(runtime.header().end_of_section_headers()).unwrap_or(usize::MAX);
            squashfs::members(archive, image, scratch, room, receiver)
        }
    }
}

/// A member's name as it is shown.
pub(crate) fn shown_name(name: &[u8]) -> String {
    let text = printable(Path::new(OsStr::from_bytes(name)));
    text.trim_start_matches("./").trim_start_matches('/').to_owned()
}

/// Passes a member on, with its bytes if they are worth a look.
fn give(name: &[u8], bytes: Option<Bytes>, room: &mut Room, receiver: Receiver<'_>) -> Result<(), ArchiveError> {
    room.take_file()?;
    let bytes = bytes.filter(|bytes| is_of_interest(bytes.get()));
    match receiver(Member { name: shown_name(name), bytes }) {
        true => Ok(()),
        false => Err(ArchiveError::Interrupted),
    }
}

/// Whether a file that begins like this is an object or an archive.
pub(crate) fn is_of_interest(start: &[u8]) -> bool {
    start.starts_with(b"\x7fELF") || Format::of(start).is_some()
}
