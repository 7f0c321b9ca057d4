//! `pack`: rewrite ELF files with compact relocations, and prove it.

mod one;
mod report;
pub(crate) mod world;

use std::path::PathBuf;

use coldstart_launch::Interrupt;
use coldstart_rewrite::{Allowed, LibcFloor, Passes};
use coldstart_startup::HostLibcs;

use crate::error::AppError;
use crate::kinds;
use crate::observer::Observer;
use crate::rewriting::{Destination, PlaceOptions, Rule, gather, over_tasks};
use one::Packer;
use world::World;

pub use one::Done;
pub use report::{Report, SCHEMA, Total, warnings};

/// What to pack, how, and where to.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files, and directories to walk.
    pub targets: Vec<PathBuf>,
    /// Whether walks stay on one file system.
    pub one_file_system: bool,
    /// Where results go.
    pub place: PlaceOptions,
    /// Whether to plan only: nothing is written.
    pub dry_run: bool,
    /// Where the original is kept: a path for one, a directory for several.
    pub keep_original: Option<PathBuf>,
    /// The passes.
    pub passes: Passes,
    /// Programs and traces: all that load the files. References are then also bound where none of these programs lets another
    /// object take them over.
    pub closed_world: Vec<PathBuf>,
    /// The oldest C library that must load the result; `None` for this machine's, and 2.36.
    pub libc_floor: Option<LibcFloor>,
    /// Whether to leave a hole in the file if bytes cannot be removed.
    pub sparse: bool,
    /// Whether DT_SYMENT may be removed if no other entry of the dynamic table is spare.
    pub drop_syment: bool,
    /// Whether the result includes undo data for `unpack`.
    pub undo: bool,
    /// Whether to pack set-ID files and files with capabilities.
    pub allow_set_id: bool,
    /// Whether to pack signed files, which invalidates their signature.
    pub allow_signed: bool,
}

/// Packs files in parallel. Each result is written to a temporary file next to its target, proven, and then renamed.
///
/// After a signal to `interrupt` no further file is started. Errors of the walk go to the observer; the result of each file,
/// errors included, is in the report.
///
/// # Errors
/// If no output is given, or a result would replace a file that must not be replaced. Nothing is written in this case.
pub fn pack(options: &Options, interrupt: &Interrupt, observer: &dyn Observer) -> Result<Report, AppError> {
    let targets = options.targets.as_slice();
    let place = Destination::of("pack", &options.place, targets, options.dry_run)?;
    let kept = |path: &PathBuf| {
        let place = PlaceOptions { output: Some(path.clone()), ..PlaceOptions::default() };
        Destination::of("pack", &place, targets, false)
    };
    let keep_original = options.keep_original.as_ref().map(kept).transpose()?;
    let results: Vec<_> =
        [Some(&place), keep_original.as_ref()].into_iter().flatten().filter_map(Destination::directory).collect();
    let gathered = gather(targets, options.one_file_system, &results, interrupt, observer);
    let rule = Rule::new(kinds::PACKED, options.place.force, &gathered.tasks);
    place.check("pack", &gathered.tasks, &rule)?;
    if let Some(keep) = &keep_original {
        keep.check_names("pack", &gathered.tasks)?;
    }
    let is_one = !gathered.has_walked && targets.len() == 1;
    let world = match options.closed_world.as_slice() {
        [] => None,
        programs => Some(World::of(programs, observer)?),
    };
    let packer = Packer {
        world: world.as_ref().map(World::symbols).transpose()?,
        options: coldstart_rewrite::PackOptions {
            passes: options.passes.clone(),
            closed_world: None,
            libc_floor: options.libc_floor,
            sparse: options.sparse,
            drop_syment: options.drop_syment,
            undo: options.undo,
        },
        // What cannot be replaced can still be read.
        allowed: Allowed {
            set_id: options.allow_set_id,
            signed: options.allow_signed,
            frozen: place != Destination::InPlace,
        },
        place,
        rule,
        keep_original,
        copies_unchanged: is_one,
        libcs: HostLibcs::default(),
    };
    let passage = over_tasks(gathered.tasks, interrupt, observer, |task| packer.pack(task));
    let Packer { place, .. } = packer;
    Ok(Report::new(passage, options.dry_run, is_one, place, gathered.debug_files))
}
