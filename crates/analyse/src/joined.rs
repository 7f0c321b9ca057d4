//! The result of the join: addresses are file offsets, but no file has been read yet.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;

use coldstart_profile::trace::{FileId, Moment, ProcessId, ThreadId, TracedFile, TracedProcess, TracedThread};

use super::placement::{Placement, PlacementId};
use super::seen::{CodePlace, Seen};
use crate::note::{Image, LoaderState};

/// The join of records and notes, as far as it needs no file content.
#[derive(Clone, Debug, Default)]
pub struct Joined {
    /// In order of start.
    pub processes: Vec<TracedProcess>,
    /// In order of start, or of first mention.
    pub threads: Vec<TracedThread>,
    /// In the order in which they were first mapped.
    pub files: Vec<TracedFile>,
    /// Files whose path no longer referred to them while the program ran.
    pub deleted: Vec<FileId>,
    /// Which file was mapped where, in order of time; also those that are not objects.
    pub placements: Vec<Placement>,
    /// Touches, in order of time.
    pub(super) seen: Vec<Seen>,
    /// The follower's stops, in order of time.
    pub(super) stops: Vec<Stop>,
    /// Initialisers that were called, in order of time.
    pub(super) initialisers: Vec<CalledInitialiser>,
    /// Readiness: phases are cut there.
    pub(super) until: Moment,
}

/// A stop of the follower with information about phases or functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) at: Moment,
    pub(super) process: ProcessId,
    pub(super) thread: ThreadId,
    pub(super) what: StopKind,
}

/// The kind of a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StopKind {
    /// The image's first instruction; `called` is when `execve` was.
    Executed {
        image: Box<Image>,
        called: Option<Moment>,
    },
    Loader(LoaderState),
    Linked(Vec<PlacementId>),
    Protected {
        address: u64,
    },
    ProgramEntry,
    LibcStart,
    Main,
    Function {
        address: u64,
        place: Option<CodePlace>,
    },
    Ends,
}

/// An initialiser's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CalledInitialiser {
    pub(super) at: Moment,
    pub(super) process: ProcessId,
    /// Absolute.
    pub(super) address: u64,
    /// Of its object.
    pub(super) bias: u64,
}

/// The used parts of a file, for its description as an ELF object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileUse {
    /// Pages whose symbols say something: those that were executed, or touched by other code than the loader's. File
    /// offset / 4096.
    pub pages: BTreeSet<u64>,
    /// Pages of memory without bytes of the file that may be its zero-filled memory: pages from the start of the
    /// object in memory.
    pub zero_filled: BTreeSet<u64>,
    /// File offsets of instructions that touched pages, and of functions that were called.
    pub instructions: BTreeSet<u64>,
    /// Addresses, without load bias, of initialisers that were called; and of functions, if mappings were not recorded.
    pub addresses: BTreeSet<u64>,
    /// Whether it was mapped like an object: a part of it may be executed, or the loader has it in its list.
    pub as_object: bool,
}

impl Joined {
    /// A placement by its number.
    pub fn placement(&self, id: PlacementId) -> Option<&Placement> {
        self.placements.get(usize::try_from(id.0).ok()?)
    }

    /// What was used of each file.
    pub fn uses(&self) -> BTreeMap<FileId, FileUse> {
        // Sets that are built from sorted lists cost a fraction of sets that grow.
        let mut lists: HashMap<FileId, (Vec<u64>, Vec<u64>)> = HashMap::new();
        let mut zero_filled: HashMap<FileId, BTreeSet<u64>> = HashMap::new();
        let loaders = self.loaders();
        for seen in &self.seen {
            if !seen.touch.zero_filled {
                let by_loader = seen.code.is_some_and(|code| loaders.contains(&code.file));
                let list = lists.entry(seen.file).or_default();
                // Pages touched only by the loader are relocated pages: thousands of vtables that nothing refers to.
                if seen.touch.execute || !by_loader {
                    list.0.push(seen.page);
                }
            } else {
                zero_filled.entry(seen.file).or_default().insert(seen.page);
            }
            if let Some(code) = seen.code {
                lists.entry(code.file).or_default().1.push(code.offset);
            }
        }
        let mut uses: BTreeMap<FileId, FileUse> = BTreeMap::new();
        for (file, (pages, instructions)) in lists {
            let file_use = uses.entry(file).or_default();
            file_use.pages = pages.into_iter().collect();
            file_use.instructions = instructions.into_iter().collect();
        }
        for (file, pages) in zero_filled {
            uses.entry(file).or_default().zero_filled = pages;
        }
        let functions = self.stops.iter().filter_map(|stop| match stop.what {
            StopKind::Function { address, place } => Some((stop, address, place)),
            _ => None,
        });
        for (stop, address, place) in functions {
            if let Some(place) = place {
                uses.entry(place.file).or_default().instructions.insert(place.offset);
            } else if let Some((file, bias)) = self.told(stop.process, |bias| bias <= address) {
                uses.entry(file).or_default().addresses.insert(address.wrapping_sub(bias));
            }
        }
        for called in &self.initialisers {
            if let Some((file, bias)) = self.told(called.process, |bias| bias == called.bias) {
                uses.entry(file).or_default().addresses.insert(called.address.wrapping_sub(bias));
            }
        }
        for placement in self.placements.iter().filter(|placement| placement.as_object) {
            uses.entry(placement.file).or_default().as_object = true;
        }
        uses
    }

    /// The loaders that are nothing else. musl's is the C library, too: what it touches may be the program's wish.
    fn loaders(&self) -> HashSet<FileId> {
        let is_loader = |file: &TracedFile| {
            let name = file.path.file_name().map(|name| name.as_bytes()).unwrap_or_default();
            [&b"ld-linux"[..], b"ld64.so", b"ld.so", b"ld-2."].iter().any(|prefix| name.starts_with(prefix))
        };
        (0_u32..).zip(&self.files).filter(|(_, file)| is_loader(file)).map(|(place, _)| FileId(place)).collect()
    }

    /// The object with the highest load bias among the wanted ones reported by the loader; and the bias.
    fn told(&self, process: ProcessId, wanted: impl Fn(u64) -> bool) -> Option<(FileId, u64)> {
        let placements = self.placements.iter().filter(|placement| placement.process == process);
        let told = placements.filter_map(|placement| Some((placement.file, placement.told_bias?)));
        told.filter(|&(_, bias)| wanted(bias)).max_by_key(|&(_, bias)| bias)
    }
}
