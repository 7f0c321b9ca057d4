//! Why a fleet table cannot become a trace.

use std::io;
use std::path::PathBuf;

/// Why a fleet table cannot become a trace.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The file cannot be read.
    #[error("cannot read `{}`", .path.display())]
    Io {
        /// The table.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The file became shorter while it was read.
    #[error("`{}` was truncated while it was read", .path.display())]
    Shrank {
        /// The table.
        path: PathBuf,
    },
    /// A line is wrong.
    #[error("`{}` is not a fleet table: line {line}, {place}: {what}", .path.display())]
    Line {
        /// The table.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// The place in the line, or the column of the table.
        place: String,
        /// What is wrong, a clause.
        what: String,
    },
    /// There are no rows.
    #[error("the fleet table `{}` is empty", .path.display())]
    Empty {
        /// The table.
        path: PathBuf,
    },
    /// It is of several programs.
    #[error("the fleet table `{}` is of several programs: `{first}` and `{other}`", .path.display())]
    Programs {
        /// The table.
        path: PathBuf,
        /// One of them.
        first: String,
        /// Another one.
        other: String,
    },
    /// No host started the build of the program that is here.
    #[error("the fleet table `{}` has no build of `{program}` that is here: here {here}, there {there}", .path.display())]
    Builds {
        /// The table.
        path: PathBuf,
        /// The program.
        program: String,
        /// The build id of the local file, or why there is none.
        here: String,
        /// The build ids of the table.
        there: String,
    },
    /// None of the files is here.
    #[error("none of the files of the fleet table `{}` is here as the hosts have it", .path.display())]
    NoFiles {
        /// The table.
        path: PathBuf,
    },
}

impl FleetError {
    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { .. } | Self::Shrank { .. } => None,
            Self::Line { .. } => Some("docs/formats/fleet.md describes the columns".to_owned()),
            Self::Empty { .. } => Some("look at the rows that the query begins with".to_owned()),
            Self::Programs { .. } => Some("write one table for each program: `WHERE program = ...`".to_owned()),
            Self::Builds { .. } => Some("record starts of this build on some hosts, and merge again".to_owned()),
            Self::NoFiles { .. } => Some("use the table on a host that is installed as the recorded ones".to_owned()),
        }
    }
}

coldstart_hint::hinted!(FleetError);
