//! Where the result of each file goes.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use coldstart_output::{Inputs, OutputError, OutputKind, OutputPlace, OutputRefusal};

use super::gather::Task;
use crate::args::output::ForceArgs;
use crate::args::rewriting::PlaceArgs;
use crate::error::{CliError, HintExt};
use crate::output::path::printable;

/// Where results go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Destination {
    /// Over the file itself.
    InPlace,
    /// The only result is this file.
    File(PathBuf),
    /// Below this directory, which may have to be made.
    Below(PathBuf),
    /// Nothing is written.
    Nowhere,
}

impl Destination {
    /// What the options mean for these targets.
    pub(in super::super) fn of(
        verb: &str,
        args: &PlaceArgs,
        targets: &[PathBuf],
        dry_run: bool,
    ) -> Result<Self, CliError> {
        let Some(output) = &args.output else {
            if dry_run || args.in_place {
                return Ok(if dry_run { Self::Nowhere } else { Self::InPlace });
            }
            let dry_run =
                if ["pack", "bind"].contains(&verb) { "; --dry-run only says what would be done" } else { "" };
            return Err(anyhow::anyhow!("it is not said where the result goes")).hint(|| {
                format!("`{verb}` rewrites no file in place without being told: say -o OUT or --in-place{dry_run}")
            });
        };
        if targets.iter().any(|target| target.is_dir() && is_same(target, output)) {
            return Err(anyhow::anyhow!(
                "`{}` is what is walked, so that results would lie over originals",
                printable(output)
            ))
            .hint(|| format!("`{verb} --in-place` does that, and keeps each original until its result is proven"));
        }
        if output.is_dir() {
            return Ok(Self::Below(output.clone()));
        }
        let exists = output.symlink_metadata().is_ok();
        let is_one = matches!(targets, [only] if !only.is_dir());
        let is_meant_as_directory = printable(output).ends_with('/');
        if exists && !is_one {
            let shown = printable(output);
            return Err(
                anyhow::anyhow!("`{shown}` is no directory, and the results of several files go below one").into()
            );
        }
        Ok(if is_one && !is_meant_as_directory { Self::File(output.clone()) } else { Self::Below(output.clone()) })
    }

    /// The directory of results, if there is one: what lies in it is not worked on.
    pub(in super::super) fn directory(&self) -> Option<&Path> {
        match self {
            Self::Below(directory) => Some(directory),
            _ => None,
        }
    }

    /// Where a file's result goes; nothing in place, and when nothing is written.
    pub(in super::super) fn target(&self, task: &Task) -> Option<PathBuf> {
        match self {
            Self::InPlace | Self::Nowhere => None,
            Self::File(path) => Some(path.clone()),
            Self::Below(directory) => Some(directory.join(&task.below)),
        }
    }

    /// Whether results are written elsewhere than over their originals.
    pub(in super::super) fn is_elsewhere(&self) -> bool {
        matches!(self, Self::File(_) | Self::Below(_))
    }

    /// Where a file's result stands, as the user would name it. `link_to` is where the file's path leads, if it is a
    /// symbolic link.
    pub(in super::super) fn shown(&self, task: &Task, link_to: Option<&Path>) -> PathBuf {
        self.target(task).unwrap_or_else(|| link_to.unwrap_or(&task.path).to_owned())
    }

    /// A file and where its result went: "`a.so` in place", "`a.so` into `b.so`".
    pub(in super::super) fn words(&self, task: &Task, result: &Path) -> String {
        let name = printable(&task.path);
        match self {
            Self::InPlace => format!("`{name}` in place"),
            _ => format!("`{name}` into `{}`", printable(result)),
        }
    }

    /// Holds that no two results would be one file, that none would lie over its original, and that what stands at their
    /// places may be replaced by the rule for outputs.
    pub(in super::super) fn check(&self, verb: &str, tasks: &[Task], rule: &Rule) -> Result<(), CliError> {
        self.check_names(verb, tasks)?;
        for target in tasks.iter().filter_map(|task| self.target(task)) {
            match rule.place(&target).and_then(|place| place.check()) {
                // Its directory is made when there is a result.
                Err(OutputError { refusal: OutputRefusal::Io(error), .. })
                    if error.kind() == ErrorKind::NotFound && self.directory().is_some() => {}
                checked => checked?,
            }
        }
        Ok(())
    }

    /// Holds that no two results would be one file, and that none would lie over its original.
    pub(in super::super) fn check_names(&self, verb: &str, tasks: &[Task]) -> Result<(), CliError> {
        let mut taken: HashMap<PathBuf, &Task> = HashMap::new();
        for task in tasks {
            let Some(target) = self.target(task) else { continue };
            if is_same(&target, &task.path) {
                return Err(anyhow::anyhow!("the result would lie over its original `{}`", printable(&task.path)))
                    .hint(|| {
                        format!("`{verb} --in-place` does that, and keeps the original until the result is proven")
                    });
            }
            if let Some(other) = taken.insert(target.clone(), task) {
                let (one, two) = (printable(&other.path), printable(&task.path));
                let target = printable(&target);
                return Err(anyhow::anyhow!("the results of `{one}` and `{two}` would both be `{target}`"))
                    .hint(|| "name a directory above both, or one after the other with a directory each");
            }
        }
        Ok(())
    }
}

/// What results may replace: the kind of the verb's results, whether `--force` was given, and what is worked on, which they
/// must not replace.
#[derive(Clone, Debug)]
pub(in super::super) struct Rule {
    kind: OutputKind,
    force: ForceArgs,
    inputs: Inputs,
}

impl Rule {
    /// For results made of these files.
    pub(in super::super) fn new(kind: OutputKind, force: ForceArgs, tasks: &[Task]) -> Self {
        let inputs = tasks.iter().fold(Inputs::default(), |inputs, task| {
            inputs.with(format!("`{}`, which is worked on", printable(&task.path)), &task.path)
        });
        Self { kind, force, inputs }
    }

    /// Whether files that are no earlier results may be replaced.
    pub(in super::super) fn is_forced(&self) -> bool {
        self.force.force
    }

    /// The place of a result.
    pub(in super::super) fn place(&self, path: &Path) -> Result<OutputPlace, OutputError> {
        Ok(OutputPlace::new(path, self.kind, self.force.force)?.not_over(self.inputs.clone()))
    }

    /// The same for a result of another kind.
    pub(in super::super) fn of_kind(&self, kind: OutputKind) -> Self {
        Self { kind, ..self.clone() }
    }
}

/// Whether both paths lead to one name in one directory, or one is a link to the other. Two names of one file (hard links)
/// are not the same: replacing one leaves the other as it is.
fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(output: Option<&Path>, targets: &[&Path]) -> Result<Destination, CliError> {
        let args = PlaceArgs { output: output.map(Path::to_owned), ..PlaceArgs::default() };
        Destination::of("pack", &args, &targets.iter().map(|target| target.to_path_buf()).collect::<Vec<_>>(), false)
    }

    #[test]
    fn one_file_has_a_name_and_several_have_a_directory() {
        let scratch = tempfile::tempdir().unwrap();
        let (file, new) = (scratch.path().join("a.so"), scratch.path().join("new"));
        std::fs::write(&file, "x").unwrap();
        assert_eq!(place(Some(&new), &[&file]).unwrap(), Destination::File(new.clone()));
        assert_eq!(place(Some(&new.join("")), &[&file]).unwrap(), Destination::Below(new.join("")));
        assert_eq!(place(Some(scratch.path()), &[&file]).unwrap(), Destination::Below(scratch.path().to_owned()));
        assert_eq!(place(Some(&new), &[&file, &file]).unwrap(), Destination::Below(new.clone()));
        assert_eq!(place(Some(&new), &[scratch.path()]).unwrap(), Destination::Below(new));
        assert!(place(Some(&file), &[scratch.path()]).is_err());
        assert!(place(None, &[&file]).is_err());
    }

    #[test]
    fn results_do_not_meet() {
        let scratch = tempfile::tempdir().unwrap();
        let task = |folder: &str| Task {
            path: scratch.path().join(folder).join("a.so"),
            is_named: true,
            below: PathBuf::from("a.so"),
        };
        let check = |destination: &Destination, tasks: &[Task]| {
            let rule = Rule::new(coldstart_app::kinds::PACKED, ForceArgs::default(), tasks);
            destination.check("pack", tasks, &rule)
        };
        let below = Destination::Below(scratch.path().join("out"));
        assert!(check(&below, &[task("one")]).is_ok());
        assert!(check(&below, &[task("one"), task("two")]).is_err());
        std::fs::create_dir(scratch.path().join("one")).unwrap();
        std::fs::write(scratch.path().join("one/a.so"), "x").unwrap();
        let over = Destination::File(scratch.path().join("one/../one/a.so"));
        assert!(check(&over, &[task("one")]).is_err());
        assert!(check(&Destination::Below(scratch.path().to_owned()), &[task("one")]).is_ok());
        // Another name of what is worked on.
        std::fs::hard_link(scratch.path().join("one/a.so"), scratch.path().join("a.so")).unwrap();
        assert!(check(&Destination::Below(scratch.path().to_owned()), &[task("one")]).is_err());
    }
}
