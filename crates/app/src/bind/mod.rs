//! `bind`: rewrite a program so that the loader finds every library without failed probes, and prove it.

mod audit;
mod cautions;
mod one;
mod report;

use std::path::{Path, PathBuf};

use coldstart_launch::Interrupt;
use coldstart_profile::printable;
use coldstart_rewrite::Allowed;

use crate::error::{AppError, HintExt};
use crate::kinds;
use crate::observer::Observer;
use crate::reading::directory;
use crate::rewriting::{Destination, PlaceOptions, Rule, Task};
use one::Binder;

pub use cautions::caution_sentence;
pub use one::{Bound, Done};
pub use report::{Report, SCHEMA, warnings};

/// What to bind, how, and where to.
#[derive(Clone, Debug)]
pub struct Options {
    /// The programs.
    pub programs: Vec<PathBuf>,
    /// Where results go.
    pub place: PlaceOptions,
    /// Whether to plan only: nothing is written.
    pub dry_run: bool,
    /// Where the original is kept: a path for one, a directory for several.
    pub keep_original: Option<PathBuf>,
    /// The edit of each program. Paths may be relative to the current directory; `output` is set for each program.
    pub edit: coldstart_bind::Options,
    /// Whether to bind signed programs, which invalidates their signature.
    pub allow_signed: bool,
    /// Whether to bind programs without failed probes, too.
    pub anyway: bool,
}

/// Binds programs in sequence. Each result is written to a temporary file next to its target, proven, and then renamed. No
/// program is run.
///
/// After a signal to `interrupt` no further program is started. The result of each program, errors included, is in the
/// report.
///
/// # Errors
/// If no output is given, a result would replace a file that must not be replaced, or a path in the options cannot be used.
/// Nothing is written in this case.
pub fn bind(options: &Options, interrupt: &Interrupt, observer: &dyn Observer) -> Result<Report, AppError> {
    bind_seen_as(options, None, interrupt, observer)
}

/// As [`bind`], for a program that will be started under another path than that of the result: a copy that lies over the original in
/// a private view.
pub(crate) fn bind_seen_as(
    options: &Options,
    seen_as: Option<&Path>,
    interrupt: &Interrupt,
    observer: &dyn Observer,
) -> Result<Report, AppError> {
    let programs = options.programs.as_slice();
    let place = Destination::of("bind", &options.place, programs, options.dry_run)?;
    if let Some(directory) = programs.iter().find(|program| program.is_dir()) {
        return Err(anyhow::anyhow!("`{}` is a directory", printable(directory)))
            .hint(|| "name the programs; `find DIR -type f -perm -u+x` lists them");
    }
    if programs.len() > 1 {
        alone("--farm", options.edit.farm.is_some())?;
        alone("--audit-library", options.edit.audit_library.is_some())?;
    }
    let kept = |path: &PathBuf| {
        let place = PlaceOptions { output: Some(path.clone()), ..PlaceOptions::default() };
        Destination::of("bind", &place, programs, false)
    };
    let keep_original = options.keep_original.as_ref().map(kept).transpose()?;
    let tasks: Vec<Task> = programs.iter().map(|program| Task::named(program)).collect();
    let rule = Rule::new(kinds::BOUND, options.place.force, &tasks);
    place.check("bind", &tasks, &rule)?;
    if let Some(keep) = &keep_original {
        keep.check_names("bind", &tasks)?;
    }
    if let Some(path) = &options.edit.audit_library {
        audit::place(path, &rule, &place, tasks.first())?;
    }
    let binder = Binder {
        options: with_absolute_paths(&options.edit)?,
        allowed: Allowed {
            set_id: options.edit.allow_secure,
            signed: options.allow_signed,
            frozen: place != Destination::InPlace,
        },
        place,
        rule,
        keep_original,
        anyway: options.anyway,
        seen_as: seen_as.map(Path::to_owned),
    };
    let (mut done, mut not_begun) = (Vec::new(), 0);
    observer.begin(Some(tasks.len()));
    for task in tasks {
        if interrupt.signal().is_some() {
            not_begun += 1;
            continue;
        }
        let worked = binder.bind(&task);
        observer.step();
        done.push((task, worked));
    }
    observer.end();
    let Binder { place, .. } = binder;
    Ok(Report { done, place, not_begun })
}

/// Refuses a single-path option for several programs.
fn alone(option: &str, is_given: bool) -> Result<(), AppError> {
    if !is_given {
        return Ok(());
    }
    Err(anyhow::anyhow!("{option} is a single path, but several programs were given"))
        .hint(|| "bind the programs one by one, each with its own path")
}

/// The same with absolute paths. The root must be a directory.
fn with_absolute_paths(edit: &coldstart_bind::Options) -> Result<coldstart_bind::Options, AppError> {
    if let Some(root) = &edit.root {
        directory("the root", root)?;
    }
    let absolute = |path: &Option<PathBuf>| path.as_deref().map(std::path::absolute::<&Path>).transpose();
    Ok(coldstart_bind::Options {
        farm: absolute(&edit.farm)?,
        root: absolute(&edit.root)?,
        audit_library: absolute(&edit.audit_library)?,
        ..edit.clone()
    })
}
