//! The launcher that replays a plan, starts from an image or with an index, and its copy for a measurement.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_index::{CURRENT, MANIFEST};
use coldstart_install::place::{StartWay, StartWith};
use coldstart_launch::CommandLine;

use crate::error::AppError;

/// A program that replays a plan, mounts an image or sets up an index, and then executes another program.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The command name for the user.
    pub name: String,
    /// Arguments before the plan; none of the small launcher, which tells its files apart by itself.
    pub words: Vec<OsString>,
    /// Its file.
    pub file: PathBuf,
}

impl Launcher {
    /// The small launcher (`crates/launcher`) if it is installed next to this process's executable, otherwise that executable,
    /// which must be `coldstart`.
    ///
    /// # Errors
    /// If this process's executable is unknown.
    pub fn installed() -> Result<Self, AppError> {
        const SMALL: &str = "coldstart-run";
        let ourselves = ourselves()?;
        let small = ourselves.with_file_name(SMALL);
        Ok(if small.is_file() {
            Self { name: SMALL.to_owned(), words: Vec::new(), file: small }
        } else {
            Self { name: "coldstart".to_owned(), words: vec!["prefetch".into(), "run".into()], file: ourselves }
        })
    }

    fn is_small(&self) -> bool {
        self.words.is_empty()
    }

    /// The words between the launcher in `file` and `--`.
    fn words_for(&self, file: &Path, with: &LaunchWith<'_>) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if self.is_small() {
            if let Some(index) = with.index {
                words.extend(["--index".into(), index.into()]);
            }
            words.extend(with.start.map(|(_, start)| start.into()));
            return words;
        }
        if let Some((kind, start)) = with.start {
            words.extend([OsString::from(verb(kind)), "run".into(), start.into()]);
            if with.index.is_some() {
                words.extend(["--".into(), file.into()]);
            }
        }
        if let Some(index) = with.index {
            words.extend(["index".into(), "run".into(), index.into()]);
        }
        words
    }

    /// The command that starts `program` through the launcher in `file`.
    pub(super) fn command(&self, file: &Path, with: &LaunchWith<'_>, program: &CommandLine) -> CommandLine {
        let mut arguments = self.words_for(file, with);
        arguments.extend(["--".into(), program.program.clone()]);
        arguments.extend(program.arguments.iter().cloned());
        CommandLine { program: file.into(), arguments }
    }

    /// The ways in which it starts a program, with all of these files first and then with some of them.
    pub(crate) fn ways(&self, with: &LaunchWith<'_>) -> Vec<StartWay> {
        let alone = [LaunchWith { index: None, ..*with }, LaunchWith { start: None, ..*with }];
        let mut ways = Vec::new();
        for with in
            [*with].into_iter().chain(alone.into_iter().filter(|_| with.index.is_some() && with.start.is_some()))
        {
            let manifest = with.index.map(|index| index.join(CURRENT).join(MANIFEST));
            let needs = with.start.map(|(_, start)| start.to_owned()).into_iter().chain(manifest).collect();
            ways.push(StartWay { needs, words: self.words_for(&self.file, &with) });
        }
        ways
    }

    /// The same launcher, as an installation remembers it.
    pub(crate) fn remembered(&self, start_with: StartWith) -> Self {
        let words = if self.is_small() { Vec::new() } else { vec![verb(start_with).into(), "run".into()] };
        Self { words, ..self.clone() }
    }

    /// Copies it to `file`.
    ///
    /// The launcher may be the measuring program itself, which stays in the page cache; a launcher that is never cold would make
    /// every figure too good. A copy is a separate file and as cold as the program.
    pub(super) fn copy_to(&self, file: &Path) -> std::io::Result<()> {
        fs::copy(&self.file, file)?;
        let copy = fs::File::open(file)?;
        copy.set_permissions(fs::Permissions::from_mode(0o755))?;
        // What is not on the disk yet cannot be dropped from memory.
        copy.sync_all()
    }
}

/// What a launcher starts a program with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LaunchWith<'a> {
    /// The index of modules.
    pub(crate) index: Option<&'a Path>,
    /// The plan or image.
    pub(crate) start: Option<(StartWith, &'a Path)>,
}

/// The verb of `coldstart` that starts with it.
fn verb(kind: StartWith) -> &'static str {
    match kind {
        StartWith::Plan => "prefetch",
        StartWith::Image => "image",
        StartWith::Index => "index",
    }
}

/// The file of this process's executable. After an upgrade that replaced it, the new one.
pub(crate) fn ourselves() -> Result<PathBuf, AppError> {
    let file = std::env::current_exe().context("cannot find the executable of this process")?;
    // The kernel marks a file that lost its name (`d_path` in fs/d_path.c).
    let new =
        file.as_os_str().as_bytes().strip_suffix(b" (deleted)").map(|path| PathBuf::from(OsStr::from_bytes(path)));
    Ok(new.filter(|new| !file.exists() && new.is_file()).unwrap_or(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_launchers_are_told_what_to_start_with() {
        let small = Launcher { name: "coldstart-run".to_owned(), words: Vec::new(), file: "/b/run".into() };
        let words = vec!["prefetch".into(), "run".into()];
        let large = Launcher { name: "coldstart".to_owned(), words, file: "/b/coldstart".into() };
        let (plan, image) = ((StartWith::Plan, Path::new("/p")), (StartWith::Image, Path::new("/i.erofs")));
        let index = Some(Path::new("/i"));
        for (with, by_small, by_large) in [
            (LaunchWith { index: None, start: Some(plan) }, "/p -- x", "prefetch run /p -- x"),
            (LaunchWith { index: None, start: Some(image) }, "/i.erofs -- x", "image run /i.erofs -- x"),
            (LaunchWith { index, start: None }, "--index /i -- x", "index run /i -- x"),
            (
                LaunchWith { index, start: Some(plan) },
                "--index /i /p -- x",
                "prefetch run /p -- /b/coldstart index run /i -- x",
            ),
        ] {
            let program = CommandLine { program: "x".into(), arguments: Vec::new() };
            for (launcher, expected) in [(&small, by_small), (&large, by_large)] {
                let command = launcher.command(&launcher.file, &with, &program).to_string();
                assert_eq!(command, format!("{} {expected}", launcher.file.display()));
            }
        }
        let ways = small.ways(&LaunchWith { index, start: Some(plan) });
        let needs: Vec<usize> = ways.iter().map(|way| way.needs.len()).collect();
        assert_eq!(needs, [2, 1, 1], "both, the plan alone, the index alone: {ways:?}");
    }
}
