//! How much of a file is resident, and where: the answer, and the questions one can ask.
//!
//! Not every file's pages may be seen by everybody. Then the answer is [`Cached::Unknown`] with the reason, never a guess;
//! `ask` decides.

use std::fmt;
use std::os::fd::AsFd;
use std::path::Path;

use coldstart_profile::PageRange;

use crate::cache_file::CacheFile;
use crate::error::Error;
use crate::file_system::Backing;

/// What of one file is in the page cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residency {
    /// Size of the file in bytes.
    pub size: u64,
    /// Pages of [`coldstart_profile::PAGE_SIZE`] that the file takes.
    pub file_pages: u64,
    /// Where its content lives besides.
    pub backing: Backing,
    /// Whether this is a block device.
    pub is_block_device: bool,
    /// What is cached of it.
    pub cached: Cached,
}

impl Residency {
    /// What is cached, if the kernel tells.
    pub fn known(&self) -> Option<&KnownPages> {
        match &self.cached {
            Cached::Known(known) => Some(known),
            Cached::Unknown(_) => None,
        }
    }

    /// Number of resident pages, if the kernel tells.
    pub fn resident_pages(&self) -> Option<u64> {
        self.known().map(|known| known.resident_pages)
    }
}

/// What the kernel says is cached of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cached {
    /// It told.
    Known(KnownPages),
    /// It does not tell us.
    Unknown(Unknown),
}

/// What is cached of a file. All numbers are in pages of [`coldstart_profile::PAGE_SIZE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPages {
    /// Pages in the page cache, at most the pages of the file.
    pub resident_pages: u64,
    /// Pages changed and not yet on their way to disk; `None` where the kernel does not tell.
    pub dirty_pages: Option<u64>,
    /// Pages on their way to disk; `None` where the kernel does not tell.
    pub writeback_pages: Option<u64>,
    /// The runs of resident pages, in order, not touching one another; `None` unless [`Detail::Ranges`] was asked for.
    pub ranges: Option<Vec<PageRange>>,
    /// How it was found out.
    pub method: Method,
}

/// How residency was found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The file is empty: there was nothing to ask.
    Empty,
    /// Counted by `cachestat(2)`; ranges, if any, found by bisecting.
    Cachestat,
    /// Listed by `mincore(2)`. Pages still being read do not count, with `cachestat` they do.
    Mincore,
}

impl Method {
    /// The name of the system call, or "empty".
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Cachestat => "cachestat",
            Self::Mincore => "mincore",
        }
    }
}

/// Why nothing can be said about a file's residency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The caller neither owns the file nor may write it.
    NotPermitted,
    /// Neither facility works on this kind of file with this kernel.
    Unsupported,
    /// Only `mincore` would work, and the file is larger than 16 TiB, which would take minutes and more.
    TooLarge,
}

impl Unknown {
    /// One word for scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotPermitted => "not-permitted",
            Self::Unsupported => "unsupported",
            Self::TooLarge => "too-large",
        }
    }

    /// What to do about it, where there is advice.
    pub fn hint(self) -> Option<String> {
        match self {
            Self::NotPermitted => Some("run as the file's owner or as root".to_owned()),
            Self::Unsupported => Some("`cachestat` needs Linux 6.5".to_owned()),
            Self::TooLarge => None,
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotPermitted => "Linux tells only those who own the file or may write it",
            Self::Unsupported => "neither cachestat nor mincore works on it here",
            Self::TooLarge => "it is too large to be listed page by page",
        })
    }
}

/// How much to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Numbers only: mostly one system call.
    Counts,
    /// The runs of resident pages, too.
    Ranges,
}

/// What is resident of the file at `path`; a symbolic link is followed. Reads nothing of the file.
///
/// # Errors
/// [`Error::Open`], [`Error::NotAFile`], or [`Error::Ask`] when the kernel fails. Not being told is no error.
pub fn residency(path: &Path, detail: Detail) -> Result<Residency, Error> {
    CacheFile::open(path, true)?.residency(detail)
}

/// As [`residency`], for a file or block device open for reading.
///
/// # Errors
/// As [`residency`].
pub fn residency_of(file: impl AsFd, detail: Detail) -> Result<Residency, Error> {
    CacheFile::from_fd(file.as_fd())?.residency(detail)
}

/// The resident runs of an open file, in order, not touching. A file of 150 MB takes a millisecond or two.
///
/// # Errors
/// As [`residency`], and [`Error::Hidden`] where the kernel does not tell.
pub fn pages(file: impl AsFd) -> Result<Vec<PageRange>, Error> {
    let file = CacheFile::from_fd(file.as_fd())?;
    match file.residency(Detail::Ranges)?.cached {
        Cached::Known(known) => Ok(known.ranges.unwrap_or_default()),
        Cached::Unknown(reason) => Err(Error::Hidden { path: file.path, reason }),
    }
}
