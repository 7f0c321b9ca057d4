//! Why entries cannot become an image.

use std::path::{Path, PathBuf};

use coldstart_profile::printable;

use super::layout::MOST_BLOCKS;

/// Why entries cannot become an image. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot put `{}` into an image: {problem}", printable(path))]
pub struct PlanError {
    /// The entry's path in the image.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: PlanProblem,
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanProblem {
    /// Not a path of an image.
    #[error("the path is not absolute, or contains `.`, `..`, a NUL or repeated slashes")]
    Path,
    /// A component longer than file systems allow.
    #[error("a name of {length} bytes is longer than 255")]
    NameTooLong {
        /// Length in bytes.
        length: usize,
    },
    /// Longer than system calls take.
    #[error("a path of {length} bytes is longer than 4095")]
    PathTooLong {
        /// Length in bytes.
        length: usize,
    },
    /// Two entries have this path.
    #[error("there are two entries with this path")]
    Twice,
    /// Its directory is not in the list.
    #[error("its directory is not among the entries")]
    NoDirectory,
    /// What contains it is not a directory.
    #[error("its path leads through a file that is not a directory")]
    ThroughFile,
    /// The image's own files lie there.
    #[error("the image's own index lies there")]
    Reserved,
    /// A hard link to nothing, to a directory, or to another hard link.
    #[error("it is another name of `{}`, which is not a file of the image", printable(.0))]
    LinkTarget(PathBuf),
    /// The target of a symbolic link is empty, too long, or contains a NUL.
    #[error("a symbolic link's target has 1 to 4095 bytes without NUL; this one has {0}")]
    SymlinkTarget(usize),
    /// An attribute that EROFS has no name space for.
    #[error("EROFS cannot hold the extended attribute `{}`", printable(Path::new(.0)))]
    XattrName(String),
    /// Attributes that are too long.
    #[error("the extended attribute `{}` is too large for EROFS ({size} bytes)", printable(Path::new(name)))]
    XattrSize {
        /// Its name.
        name: String,
        /// Size of the value, or of all attributes where each fits but all do not.
        size: usize,
    },
    /// A device number that the kernel's 32-bit form cannot hold.
    #[error("the device number {major}:{minor} does not fit in 12 and 20 bits")]
    Device {
        /// Major number.
        major: u32,
        /// Minor number.
        minor: u32,
    },
    /// A time with more than a second of nanoseconds.
    #[error("its modification time has {0} ns in a second")]
    Time(u32),
    /// Holes out of order or outside the file; or bytes of another length.
    #[error("its content does not have the stated size or holes")]
    Content,
    /// The image would need more blocks than 32-bit addresses reach.
    #[error(
        "with it the image has more than {MOST_BLOCKS} blocks of 4096 bytes, the most that EROFS addresses with 32 bits"
    )]
    TooLarge,
    /// Records of compressed data have 32 bits for offsets in the file.
    #[error("it has hot pages and is larger than 4 GiB, the most that is compressed")]
    TooLargeToCompress,
    /// More programs than a run's mask has bits.
    #[error("it is made for {0} programs, and its index has room for 64")]
    TooManyPrograms(usize),
    /// More of something than the index can count.
    #[error("the index cannot hold that many {0}")]
    TooMany(&'static str),
}

impl PlanError {
    pub(crate) fn new(path: impl AsRef<Path>, problem: PlanProblem) -> Self {
        Self { path: path.as_ref().to_owned(), problem }
    }

    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self.problem {
            PlanProblem::NoDirectory => Some("name its directory, too"),
            PlanProblem::Twice => Some("name each tree once"),
            PlanProblem::Reserved => Some("make the image of a tree that is not itself a mounted start image"),
            PlanProblem::XattrName(_) => Some(
                "remove the attribute with setfattr(1), or leave the file out; EROFS holds `user.`, `trusted.`, `security.` and POSIX access lists",
            ),
            PlanProblem::XattrSize { .. } => Some("remove the attribute with setfattr(1), or leave the file out"),
            PlanProblem::TooLarge | PlanProblem::TooMany(_) | PlanProblem::TooManyPrograms(_) => {
                Some("make several images of smaller trees")
            }
            PlanProblem::Device { .. } => Some("leave the file out"),
            PlanProblem::TooLargeToCompress => Some("make the image without compression"),
            _ => None,
        }
    }
}

coldstart_hint::hinted!(PlanError);
