//! The residency of a file: results and queries.
//!
//! Not every user may see every file's pages. Then the result is [`Cached::Unknown`] with the reason, never a guess;
//! `ask` decides.

use std::fmt;
use std::os::fd::AsFd;
use std::path::Path;

use coldstart_profile::PageRange;

use crate::cache_file::CacheFile;
use crate::error::Error;
use crate::file_system::Backing;

/// The residency of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residency {
    /// Size of the file in bytes.
    pub size: u64,
    /// Pages of [`coldstart_profile::PAGE_SIZE`] that the file takes.
    pub file_pages: u64,
    /// Where its content is stored besides.
    pub backing: Backing,
    /// Whether this is a block device.
    pub is_block_device: bool,
    /// Its cached pages.
    pub cached: Cached,
}

impl Residency {
    /// The cached pages, if known.
    pub fn known(&self) -> Option<&KnownPages> {
        match &self.cached {
            Cached::Known(known) => Some(known),
            Cached::Unknown(_) => None,
        }
    }

    /// Number of resident pages, if known.
    pub fn resident_pages(&self) -> Option<u64> {
        self.known().map(|known| known.resident_pages)
    }
}

/// A file's cached pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cached {
    /// Known.
    Known(KnownPages),
    /// Hidden from this caller.
    Unknown(Unknown),
}

/// Cached pages of a file. All numbers are in pages of [`coldstart_profile::PAGE_SIZE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPages {
    /// Pages in the page cache, at most the pages of the file.
    pub resident_pages: u64,
    /// Dirty pages; `None` if unknown.
    pub dirty_pages: Option<u64>,
    /// Pages under write-back; `None` if unknown.
    pub writeback_pages: Option<u64>,
    /// The runs of resident pages, in order, not adjacent; `None` unless [`Detail::Ranges`] was requested.
    pub ranges: Option<Vec<PageRange>>,
    /// The method used.
    pub method: Method,
}

/// The method of determining residency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The file is empty.
    Empty,
    /// Counted by `cachestat(2)`; ranges, if any, found by bisecting.
    Cachestat,
    /// Listed by `mincore(2)`. Pages still being read do not count, with `cachestat` they do. Without `cachestat`,
    /// large holes (16 GiB and more) count as not resident.
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

/// Why a file's residency is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The caller neither owns the file nor may write it.
    NotPermitted,
    /// Neither facility works on this kind of file with this kernel.
    Unsupported,
    /// Only `mincore` would work, but the file is larger than 16 TiB, which would take minutes and more.
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

    /// Advice, if there is any.
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
            Self::NotPermitted => "Linux shows it only to users who own the file or may write it",
            Self::Unsupported => "neither cachestat nor mincore supports it here",
            Self::TooLarge => "it is too large to list page by page",
        })
    }
}

/// The level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Numbers only: mostly one system call.
    Counts,
    /// The runs of resident pages, too.
    Ranges,
}

/// The residency of the file at `path`; a symbolic link is followed. Reads nothing of the file.
///
/// # Errors
/// [`Error::Open`], [`Error::NotAFile`], or [`Error::Ask`] when the kernel fails. Hidden residency is not an error.
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

/// The resident runs of an open file, in order, not adjacent. A file of 150 MB takes a millisecond or two.
///
/// # Errors
/// As [`residency`], and [`Error::Hidden`] where the residency is hidden.
pub fn pages(file: impl AsFd) -> Result<Vec<PageRange>, Error> {
    let file = CacheFile::from_fd(file.as_fd())?;
    match file.residency(Detail::Ranges)?.cached {
        Cached::Known(known) => Ok(known.ranges.unwrap_or_default()),
        Cached::Unknown(reason) => Err(Error::Hidden { path: file.path, reason }),
    }
}
