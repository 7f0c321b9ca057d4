//! Shared objects in a plan or a running process that the start does not load: they were opened later.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_host::process::{ProcessFiles, parse_maps};
use coldstart_loader::{Closure, Identity};
use coldstart_profile::plan::TargetKind;
use coldstart_startup::{ProgramKind, SimulatedStart};
use coldstart_sys::named_file::read_regular;

use crate::error::{AppError, HintExt};
use crate::prefetch::{read_plan, view_plan};
use crate::reading::read;

/// Size limit of a process's maps in bytes: a line has about a hundred, and a process has at most 65,530 mappings by default
/// (`vm.max_map_count`).
const MOST_MAPS: u64 = 64 << 20;

/// A shared object opened later.
#[derive(Debug)]
pub struct Opened {
    /// Its path, as seen from inside the sysroot.
    pub path: PathBuf,
    /// Its soname, if it has one.
    pub soname: Option<Vec<u8>>,
}

/// Sources for the files that a program opens later.
#[derive(Clone, Debug, Default)]
pub struct LaterSources {
    /// A prefetch plan.
    pub plan: Option<PathBuf>,
    /// The PID of a running process.
    pub pid: Option<u32>,
    /// A copy of a process's `/proc/PID/maps`.
    pub maps: Option<PathBuf>,
}

/// The files in the sources; `None` without a source.
pub(super) fn gather(sources: &LaterSources) -> Result<Option<Vec<PathBuf>>, AppError> {
    let mut paths = BTreeSet::new();
    if let Some(path) = &sources.plan {
        let bytes = read_plan(path)?;
        let plan = view_plan(path, &bytes)?;
        let targets = (0_u32..).take(plan.target_count()).filter_map(|number| plan.target(number));
        paths.extend(targets.filter(|(_, kind)| matches!(kind, TargetKind::File(_))).map(|(path, _)| path.to_owned()));
    }
    if let Some(pid) = sources.pid {
        let maps = read_regular(&ProcessFiles::of(pid).at("maps"), MOST_MAPS);
        let maps = maps.with_context(|| format!("cannot read what process {pid} has mapped"));
        paths.extend(mapped(&maps.hint(|| "it may have ended; processes of other users require root")?));
    }
    if let Some(path) = &sources.maps {
        paths.extend(mapped(&read("", path, MOST_MAPS)?));
    }
    let asked = sources.plan.is_some() || sources.pid.is_some() || sources.maps.is_some();
    Ok(asked.then(|| paths.into_iter().collect()))
}

/// The files in the text of `maps`, without deleted ones.
fn mapped(maps: &[u8]) -> BTreeSet<PathBuf> {
    let paths = parse_maps(maps).into_iter().map(|mapping| mapping.path);
    let is_there = |path: &PathBuf| path.is_absolute() && !path.as_os_str().as_encoded_bytes().ends_with(b" (deleted)");
    paths.filter(is_there).collect()
}

/// The shared objects among the files that are not in the closure.
pub(super) fn not_loaded(paths: &[PathBuf], start: &SimulatedStart, closure: &Closure) -> Vec<Opened> {
    let mut known: HashSet<Identity> = closure.objects.iter().map(|object| object.identity).collect();
    let machine = closure.objects.first().map(|program| (program.facts.machine, program.facts.class));
    let mut opened = Vec::new();
    for path in paths {
        let seen = match start.files.root().sysroot().and_then(|sysroot| path.strip_prefix(sysroot).ok()) {
            Some(within) => Path::new("/").join(within),
            None => path.clone(),
        };
        let Ok(object) = start.files.object_file(&seen) else { continue };
        // A plan may contain files of child programs.
        let fits = Some((object.facts.machine, object.facts.class)) == machine;
        if fits && object.kind == ProgramKind::Library && known.insert(object.identity) {
            opened.push(Opened { path: seen, soname: object.facts.soname });
        }
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::mapped;
    use std::path::Path;

    #[test]
    fn files_of_a_map_are_told_once() {
        let maps = b"7f00-7f01 r-xp 00000000 08:01 42    /usr/lib/a b.so\n7f01-7f02 r--p 00001000 08:01 42    /usr/lib/a b.so\n\
            7f02-7f03 rw-p 00000000 00:00 0     [heap]\n7f03-7f04 r-xp 00000000 08:01 43    /x\\012y.so\n\
            7f04-7f05 r-xp 00000000 08:01 44    /tmp/gone.so (deleted)\n7f05-7f06 rw-p 00000000 00:00 0\n";
        let files = mapped(maps);
        let files: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
        assert_eq!(files, [Path::new("/usr/lib/a b.so"), Path::new("/x\ny.so")]);
    }
}
