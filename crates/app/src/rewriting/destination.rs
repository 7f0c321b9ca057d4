//! The output path of each file.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use coldstart_output::{Inputs, OutputError, OutputKind, OutputRefusal, OutputTarget};
use coldstart_profile::printable;

use super::gather::Task;
use crate::error::{AppError, HintExt};

/// The output options.
#[derive(Clone, Debug, Default)]
pub struct PlaceOptions {
    /// The new file, or a directory to write below; for several files it is created if missing.
    pub output: Option<PathBuf>,
    /// Whether to replace an existing file that is not an earlier result.
    pub force: bool,
    /// Whether each result replaces its file.
    pub in_place: bool,
}

/// Where results go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Over the file itself.
    InPlace,
    /// The only result is this file.
    File(PathBuf),
    /// Below this directory, which is created if missing.
    Below(PathBuf),
    /// Nothing is written.
    Nowhere,
}

impl Destination {
    /// Evaluates the options for these targets. `verb` is for hints.
    ///
    /// # Errors
    /// If no output is given, or results would replace inputs.
    pub fn of(verb: &str, options: &PlaceOptions, targets: &[PathBuf], dry_run: bool) -> Result<Self, AppError> {
        let Some(output) = &options.output else {
            if dry_run || options.in_place {
                return Ok(if dry_run { Self::Nowhere } else { Self::InPlace });
            }
            let dry_run = if ["pack", "bind"].contains(&verb) { "; --dry-run only prints the plan" } else { "" };
            return Err(anyhow::anyhow!("no output given"))
                .hint(|| format!("`{verb}` does not rewrite in place by default: use -o OUT or --in-place{dry_run}"));
        };
        if targets.iter().any(|target| target.is_dir() && is_same(target, output)) {
            return Err(anyhow::anyhow!(
                "the output directory `{}` is also an input: results would replace originals",
                printable(output)
            ))
            .hint(|| format!("use `{verb} --in-place`, which keeps each original until its result is proven"));
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
                anyhow::anyhow!("`{shown}` is not a directory; several files require an output directory").into()
            );
        }
        Ok(if is_one && !is_meant_as_directory { Self::File(output.clone()) } else { Self::Below(output.clone()) })
    }

    /// The directory of results, if there is one: files below it are not processed.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Below(directory) => Some(directory),
            _ => None,
        }
    }

    /// The output path of a file; `None` in place, and if nothing is written.
    pub fn target(&self, task: &Task) -> Option<PathBuf> {
        match self {
            Self::InPlace | Self::Nowhere => None,
            Self::File(path) => Some(path.clone()),
            Self::Below(directory) => Some(directory.join(&task.below)),
        }
    }

    /// Whether results are written to other paths than their originals.
    pub fn is_elsewhere(&self) -> bool {
        matches!(self, Self::File(_) | Self::Below(_))
    }

    /// The path of a file's result for messages. `link_to` is the target of the file's path, if it is a symbolic link.
    pub fn shown(&self, task: &Task, link_to: Option<&Path>) -> PathBuf {
        self.target(task).unwrap_or_else(|| link_to.unwrap_or(&task.path).to_owned())
    }

    /// Checks that no two results have the same path, that none would replace its original, and that existing files at their
    /// paths may be replaced by the rule for outputs.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self, verb: &str, tasks: &[Task], rule: &Rule) -> Result<(), AppError> {
        self.check_names(verb, tasks)?;
        for target in tasks.iter().filter_map(|task| self.target(task)) {
            match rule.place(&target).and_then(|place| place.check()) {
                // Its directory is created together with the result.
                Err(OutputError { refusal: OutputRefusal::Io(error), .. })
                    if error.kind() == ErrorKind::NotFound && self.directory().is_some() => {}
                checked => checked?,
            }
        }
        Ok(())
    }

    /// Checks that no two results have the same path, and that none would replace its original.
    ///
    /// # Errors
    /// The first two results with the same path, or the first that would replace its original.
    pub fn check_names(&self, verb: &str, tasks: &[Task]) -> Result<(), AppError> {
        let mut taken: HashMap<PathBuf, &Task> = HashMap::new();
        for task in tasks {
            let Some(target) = self.target(task) else { continue };
            if is_same(&target, &task.path) {
                return Err(anyhow::anyhow!("the result would replace its original `{}`", printable(&task.path)))
                    .hint(|| format!("use `{verb} --in-place`, which keeps the original until the result is proven"));
            }
            if let Some(other) = taken.insert(target.clone(), task) {
                let (one, two) = (printable(&other.path), printable(&task.path));
                let target = printable(&target);
                return Err(anyhow::anyhow!("the results of `{one}` and `{two}` would both be `{target}`"))
                    .hint(|| "name a common parent directory, or run once for each with a directory of its own");
            }
        }
        Ok(())
    }
}

/// What results may replace: earlier results of the verb's kind, any file with `--force`, but never the inputs.
#[derive(Clone, Debug)]
pub struct Rule {
    kind: OutputKind,
    force: bool,
    inputs: Inputs,
}

impl Rule {
    /// For results of these files; `force` allows replacing any other file.
    pub fn new(kind: OutputKind, force: bool, tasks: &[Task]) -> Self {
        let inputs = tasks.iter().fold(Inputs::default(), |inputs, task| {
            inputs.with(format!("the input `{}`", printable(&task.path)), &task.path)
        });
        Self { kind, force, inputs }
    }

    /// Whether files other than earlier results may be replaced.
    pub fn is_forced(&self) -> bool {
        self.force
    }

    /// The output target of a result.
    ///
    /// # Errors
    /// If the name is invalid.
    pub fn place(&self, path: &Path) -> Result<OutputTarget, OutputError> {
        Ok(OutputTarget::new(path, self.kind, self.force)?.not_over(self.inputs.clone()))
    }

    /// The same for a result of another kind.
    pub fn of_kind(&self, kind: OutputKind) -> Self {
        Self { kind, ..self.clone() }
    }
}

/// Whether both paths are the same directory entry, or one is a symbolic link to the other. Hard links are different:
/// replacing one leaves the other unchanged.
fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(output: Option<&Path>, targets: &[&Path]) -> Result<Destination, AppError> {
        let options = PlaceOptions { output: output.map(Path::to_owned), ..PlaceOptions::default() };
        Destination::of("pack", &options, &targets.iter().map(|target| target.to_path_buf()).collect::<Vec<_>>(), false)
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
            let rule = Rule::new(crate::kinds::PACKED, false, tasks);
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
