//! `coldstart bind`: rewrite a program so that every library is found at the first try, and prove it.

mod audit;
mod one;
mod report;
pub(super) mod words;

use std::path::{Path, PathBuf};

use coldstart_app::kinds;
use coldstart_bind::{FarmText, Mode};
use coldstart_launch::Interrupt;
use coldstart_rewrite::Allowed;

use super::rewriting::{Destination, Rule, Task, Worked, complain, finish};
use crate::args::bind::{BindArgs, FarmTextChoice, ModeChoice};
use crate::args::rewriting::PlaceArgs;
use crate::error::{CliError, Complaints, HintExt};
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::{self, note};
use coldstart_app::reading::directory;
use one::{Binder, Done};
use report::Report;

pub(super) fn run(args: &BindArgs) -> Result<Exit, CliError> {
    let place = Destination::of("bind", &args.place, &args.programs, args.dry_run)?;
    if let Some(directory) = args.programs.iter().find(|program| program.is_dir()) {
        return Err(anyhow::anyhow!("`{}` is a directory", printable(directory)))
            .hint(|| "name the programs; `find DIR -type f -perm -u+x` lists them");
    }
    if args.programs.len() > 1 {
        alone("--farm", args.farm.is_some())?;
        alone("--audit-library", args.audit_library.is_some())?;
    }
    let keep_original = args.keep_original.as_ref().map(|path| kept(path.clone(), &args.programs)).transpose()?;
    let interrupt = Interrupt::listen()?;
    let tasks: Vec<Task> = args.programs.iter().map(|program| task(program)).collect();
    let rule = Rule::new(kinds::BOUND, args.place.force, &tasks);
    place.check("bind", &tasks, &rule)?;
    if let Some(keep) = &keep_original {
        keep.check_names("bind", &tasks)?;
    }
    if let Some(path) = &args.audit_library {
        audit::place(path, &rule, &place, tasks.first())?;
    }
    let binder = Binder {
        options: options(args)?,
        allowed: Allowed {
            set_id: args.allow_setuid,
            signed: args.allow_signed,
            frozen: place != Destination::InPlace,
        },
        place,
        rule,
        keep_original,
        anyway: args.anyway,
    };
    let (mut done, mut not_begun) = (Vec::new(), 0);
    for task in tasks {
        if interrupt.signal().is_some() {
            not_begun += 1;
            continue;
        }
        let worked = binder.bind(&task);
        done.push((task, worked));
    }
    let report = Report { done, place: &binder.place };
    if args.json {
        report.print_json()?;
    } else {
        output::print(&report.text())?;
        for (task, worked) in &report.done {
            for warning in report::warnings(task, worked) {
                note(&warning);
            }
        }
    }
    let mut complaints = Complaints::default();
    let done: Vec<(Task, Worked<Done>)> = report.done;
    let refused = complain("bind", done, !args.json, &mut complaints);
    Ok(finish(complaints, refused, &interrupt, not_begun))
}

fn task(program: &Path) -> Task {
    let below = program.file_name().map(PathBuf::from).unwrap_or_default();
    Task { path: program.to_owned(), is_named: true, below }
}

/// Refuses an option that means one place, for several programs.
fn alone(option: &str, is_given: bool) -> Result<(), CliError> {
    if !is_given {
        return Ok(());
    }
    Err(anyhow::anyhow!("{option} names one place, and several programs are to be bound"))
        .hint(|| "bind one after the other, each with a place of its own")
}

/// Where originals are kept.
fn kept(path: PathBuf, programs: &[PathBuf]) -> Result<Destination, CliError> {
    Destination::of("bind", &PlaceArgs { output: Some(path), ..PlaceArgs::default() }, programs, false)
}

/// What was asked for, but for places, which depend on the program.
fn options(args: &BindArgs) -> Result<coldstart_bind::Options, CliError> {
    if let Some(root) = &args.root {
        directory("the root", root)?;
    }
    let absolute = |path: &PathBuf| std::path::absolute(path);
    let levels = args.levels.as_ref().map(|list| match list.as_str() {
        "none" => Vec::new(),
        list => list.split([',', ':']).filter(|level| !level.is_empty()).map(str::to_owned).collect(),
    });
    Ok(coldstart_bind::Options {
        mode: match args.mode {
            ModeChoice::Soname => Mode::Soname,
            ModeChoice::Absolute => Mode::Absolute,
            ModeChoice::Origin => Mode::Origin,
            ModeChoice::Audit => Mode::Audit,
        },
        output: None,
        farm: args.farm.as_ref().map(absolute).transpose()?,
        farm_text: match args.farm_text {
            FarmTextChoice::Auto => FarmText::Auto,
            FarmTextChoice::Origin => FarmText::Origin,
            FarmTextChoice::Absolute => FarmText::Absolute,
        },
        levels,
        keep_path: args.keep_path.clone(),
        root: args.root.as_ref().map(absolute).transpose()?,
        audit_library: args.audit_library.as_ref().map(absolute).transpose()?,
        check_files: args.check_files,
        allow_secure: args.allow_setuid,
        rebind: args.rebind,
    })
}
