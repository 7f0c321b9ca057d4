//! `coldstart pack`: rewrite ELF files so that their relocations take little room, and prove it.

mod one;
mod report;
mod show;
mod words;

use std::path::PathBuf;

use coldstart_launch::Interrupt;
use coldstart_rewrite::{Allowed, Caution, PackOptions};
use coldstart_startup::HostLibcs;

use super::rewriting::{Destination, Rule, complain, finish, gather, over_tasks};
use crate::args::pack::PackArgs;
use crate::args::rewriting::PlaceArgs;
use crate::error::{CliError, Complaints};
use crate::exit::Exit;
use crate::output::text::{counted, plain};
use crate::output::{self, kinds, note};
use one::Packer;
use report::{Report, warnings};

pub(super) fn run(args: &PackArgs) -> Result<Exit, CliError> {
    let place = Destination::of("pack", &args.place, &args.targets, args.dry_run)?;
    let keep_original = args.keep_original.as_ref().map(|path| kept(path.clone(), &args.targets)).transpose()?;
    let interrupt = Interrupt::listen()?;
    let mut complaints = Complaints::default();
    let results: Vec<_> =
        [Some(&place), keep_original.as_ref()].into_iter().flatten().filter_map(Destination::directory).collect();
    let gathered = gather(&args.targets, args.many.one_file_system, &results, &interrupt, &mut complaints);
    let rule = Rule::new(kinds::PACKED, args.place.force, &gathered.tasks);
    place.check("pack", &gathered.tasks, &rule)?;
    if let Some(keep) = &keep_original {
        keep.check_names("pack", &gathered.tasks)?;
    }
    let is_one = !gathered.has_walked && args.targets.len() == 1;
    let packer = Packer {
        options: PackOptions {
            libc_floor: args.min_libc,
            sparse: args.sparse,
            drop_syment: args.drop_syment,
            undo: !args.no_undo,
        },
        // What cannot be replaced can still be read.
        allowed: Allowed {
            set_id: args.allow_setuid,
            signed: args.allow_signed,
            frozen: place != Destination::InPlace,
        },
        place,
        rule,
        keep_original,
        copies_unchanged: is_one,
        libcs: HostLibcs::default(),
    };
    let passage = over_tasks(gathered.tasks, &interrupt, |task| packer.pack(task));
    let report = Report::new(passage, args.dry_run);
    if args.many.json {
        report.print_json()?;
    } else {
        match report.done.as_slice() {
            [(task, worked)] if is_one => output::print(&show::one(task, worked, &packer.place))?,
            [] if complaints.count() > 0 => {}
            _ => output::print(&show::many(&report, args.many.all))?,
        }
        tell(&report, gathered.debug_files);
    }
    let not_begun = report.total.not_begun;
    let refused = complain("pack", report.done, is_one && !args.many.json, &mut complaints);
    Ok(finish(complaints, refused, &interrupt, not_begun))
}

/// Where originals are kept.
fn kept(path: PathBuf, targets: &[PathBuf]) -> Result<Destination, CliError> {
    Destination::of("pack", &PlaceArgs { output: Some(path), ..PlaceArgs::default() }, targets, false)
}

/// Says what the user of the files should know.
fn tell(report: &Report, debug_files: u64) {
    let (mut unguarded, mut odd_words, mut odd_files) = (0_u64, 0_u64, 0_u64);
    for (_, summary) in report.packed() {
        for caution in &summary.cautions {
            match caution {
                Caution::NoVersionGuard => unguarded += 1,
                Caution::InPlaceValues { count } => {
                    odd_words = odd_words.saturating_add(*count);
                    odd_files += 1;
                }
            }
        }
    }
    if unguarded > 0 {
        note(&words::caution(Caution::NoVersionGuard, unguarded));
    }
    if odd_files > 0 {
        note(&words::caution(Caution::InPlaceValues { count: odd_words }, odd_files));
    }
    for (task, worked) in &report.done {
        for warning in warnings(task, worked) {
            note(&warning);
        }
    }
    if debug_files > 0 {
        note(&plain(&format!("passed over {}, told by their names", counted(debug_files, "debug file"))));
    }
}
