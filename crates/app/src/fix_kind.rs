//! The kinds of fixes, and a file as they change it: what is measured by `speedup` and put in place by `install`.

use std::path::{Path, PathBuf};

use coldstart_profile::JsonPath;
use serde::{Serialize, Serializer};

/// A kind of fix, as the user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FixKind {
    /// Rewrites the program so that the loader finds each library at the first try.
    Bind,
    /// Packs relative relocations of the program and its libraries.
    Pack,
    /// Puts zip files and AppImages into the order of the start.
    Order,
    /// Has the interpreter find its modules at the first try. Before those that record what a start reads.
    Index,
    /// Starts the program from an image whose blocks lie in the order of its start. Instead of a plan.
    Image,
    /// Replays a recorded plan of reads. Last: it records what the other fixes leave to read.
    Prefetch,
}

impl FixKind {
    /// All kinds, in the order in which they are applied.
    pub const ALL: [Self; 6] = [Self::Bind, Self::Pack, Self::Order, Self::Index, Self::Image, Self::Prefetch];

    /// Its name: the verb that does the same alone.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pack => "pack",
            Self::Bind => "bind",
            Self::Order => "order",
            Self::Index => "index",
            Self::Image => "image",
            Self::Prefetch => "prefetch",
        }
    }

    /// Whether only one of two fixes can be in use: two of a kind, an image and a plan.
    pub fn excludes(self, other: Self) -> bool {
        let reads = |kind| matches!(kind, Self::Image | Self::Prefetch);
        self == other || reads(self) && reads(other)
    }

    /// Whether it saves computing as well as reading, so that a start from memory counts, too.
    pub fn pays_hot(self) -> bool {
        self == Self::Index
    }

    /// Whether it changes files of the program.
    pub fn changes_files(self) -> bool {
        matches!(self, Self::Pack | Self::Bind | Self::Order)
    }
}

/// A file of the program that fixes change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Its path, without links.
    #[serde(flatten, serialize_with = "as_json_path")]
    pub path: PathBuf,
    /// The fixes, in the order in which they are applied.
    pub edits: Vec<FixKind>,
    /// For [`FixKind::Order`], the names of the entries or files that a start uses, in the order of their first use.
    #[serde(skip)]
    pub order: Vec<PathBuf>,
}

fn as_json_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    JsonPath::new(path).serialize(serializer)
}
