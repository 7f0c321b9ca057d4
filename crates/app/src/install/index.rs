//! The index of modules of an installation: read before it is installed, judged, made again.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use coldstart_index::{CURRENT, Language, Manifest, OpenIndex, variables_of};
use coldstart_install::{IndexFile, IndexRecord, Installation, Scope, Stored};
use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_profile::printable;
use coldstart_sys::named_file::open_regular;
use serde::Serialize;

use crate::error::{AppError, HintExt};
use crate::index::{ChangedPath, MakeOutcome, check, make_with};
use crate::observer::Observer;

/// An index to be installed: its files are copied.
#[derive(Clone, Debug)]
pub struct IndexToInstall {
    /// The index, or where it was when it was opened.
    pub path: PathBuf,
    manifest: Manifest,
    files: Vec<IndexFile>,
}

/// An index that was read.
pub(super) struct ReadIndex {
    pub(super) files: Vec<IndexFile>,
    pub(super) record: IndexRecord,
    pub(super) notes: Vec<String>,
    /// As [`IndexToInstall::sources`].
    sources: Vec<PathBuf>,
}

/// An installed index.
#[derive(Clone, Debug, Serialize)]
pub struct InstalledIndex {
    /// The directory.
    pub directory: Stored,
    /// What it takes on the disk, in bytes.
    pub bytes: u64,
    /// The languages in it.
    pub languages: Vec<String>,
}

impl InstalledIndex {
    pub(super) fn of(record: &IndexRecord, installation: &Installation) -> Self {
        Self {
            directory: Stored::from(installation.index().as_path()),
            bytes: record.bytes,
            languages: record.languages.clone(),
        }
    }
}

impl IndexToInstall {
    /// Opens an index by its name.
    ///
    /// # Errors
    /// If it cannot be read, or is made again meanwhile.
    pub fn open(path: &Path) -> Result<Self, AppError> {
        let content = path.join(CURRENT);
        let named = || cannot_use(path);
        let identity = |directory: &Path| fs::metadata(directory).map(|found| (found.dev(), found.ino()));
        let OpenIndex { manifest, .. } = OpenIndex::open(path)?;
        let before = identity(&content).with_context(named)?;
        let mut files = Vec::new();
        collect(&content, Path::new(CURRENT), &mut files).with_context(named)?;
        if identity(&content).with_context(named)? != before {
            return Err(anyhow!("{}: it is being made again", named())).hint(|| "repeat the command");
        }
        Ok(Self { path: path.to_owned(), manifest, files })
    }

    /// Reads what an installation has to know of it.
    ///
    /// # Errors
    /// If its place in the installation cannot be named to the interpreter, or all users would run code that others than root may change.
    pub(super) fn read(
        &self,
        program: &CommandLine,
        installation: &Installation,
        scope: Scope,
    ) -> Result<ReadIndex, AppError> {
        let named = || cannot_use(&self.path);
        let content = installation.index().join(CURRENT);
        for part in &self.manifest.languages {
            variables_of(&content, part.language)?;
        }
        let mut bytes = 0_u64;
        for file in &self.files {
            let found = file.file.metadata().with_context(named)?;
            bytes = bytes.saturating_add(found.len());
            if scope == Scope::System && (found.uid() != 0 || found.mode() & 0o022 != 0) {
                let shown = printable(&self.path.join(&file.name));
                return Err(anyhow!(
                    "{}: all users would run code of it, and others than root can change `{shown}`",
                    named()
                ))
                .hint(|| "make it as root with `coldstart index make`, or install it for this user with --user");
            }
        }
        let mut notes = Vec::new();
        let words = self.manifest.command.iter().map(|word| OsString::from_vec(word.clone()));
        if let Ok(made_for) = CommandLine::from_words(words)
            && made_for.program != program.program
        {
            notes.push(format!(
                "the index was made for {made_for}: {program} may look for modules that it does not know"
            ));
        }
        let languages = self.manifest.languages.iter().map(|part| part.language.name().to_owned()).collect();
        Ok(ReadIndex {
            files: self.files.clone(),
            record: IndexRecord { languages, bytes },
            notes,
            sources: self.sources().map(Path::to_owned).collect(),
        })
    }

    /// The interpreters that it was made for, and the sources whose code is in it.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Path> {
        let parts = &self.manifest.languages;
        let sources = parts.iter().flat_map(|part| &part.sources).map(|source| source.path.as_path());
        parts.iter().map(|part| part.interpreter.as_path()).chain(sources)
    }
}

impl ReadIndex {
    /// Files that it was made from: a change of their packages makes it stale.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Path> {
        self.sources.iter().map(PathBuf::as_path)
    }
}

fn collect(directory: &Path, name: &Path, files: &mut Vec<IndexFile>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            collect(&path, &name, files)?;
            continue;
        }
        let file: File = open_regular(&path)?;
        let mode = file.metadata()?.mode() & 0o777;
        files.push(IndexFile { name, file: Arc::new(file), mode });
    }
    Ok(())
}

fn cannot_use(path: &Path) -> String {
    format!("cannot use the index `{}`", printable(path))
}

/// What has changed since the index of an installation was made: directories and sources, then interpreters that are gone.
///
/// # Errors
/// If the index is gone or damaged, or lacks a file without which the interpreter would not start.
pub(super) fn changed(installation: &Installation) -> Result<(Vec<ChangedPath>, Vec<PathBuf>), AppError> {
    let path = installation.index();
    let open = OpenIndex::open(&path)?;
    for part in &open.manifest.languages {
        let own = open.content.join(part.language.directory());
        fs::read_dir(&own).with_context(|| format!("{}: `{}` is gone", cannot_use(&path), printable(&own)))?;
    }
    for needed in open.variables()?.into_iter().filter_map(|variable| variable.needs) {
        open_regular(&needed).with_context(|| format!("{}: `{}`", cannot_use(&path), printable(&needed)))?;
    }
    let found = check(&path)?;
    let gone = open.manifest.languages.iter().zip(&found.languages).filter(|(_, checked)| !checked.has_interpreter);
    let gone = gone.map(|(part, _)| part.interpreter.clone()).collect();
    let changed =
        found.languages.into_iter().flat_map(|part| part.changed_directories.into_iter().chain(part.changed_sources));
    Ok((changed.collect(), gone))
}

/// Whether an index was made for a program of any language, by `--shim`.
pub(super) fn has_shim(record: &IndexRecord) -> bool {
    record.languages.iter().any(|language| language == Language::Any.name())
}

/// Makes an index again, at [`Installation::new_index`].
///
/// # Errors
/// As [`crate::index::make`], or if the program is not the same with it.
pub(super) fn make_again(
    installation: &Installation,
    command: &CommandLine,
    options: &LaunchOptions,
    shim: bool,
    observer: &dyn Observer,
) -> Result<MakeOutcome, AppError> {
    let made = make_with(&installation.new_index(), command, options, shim, observer)?;
    match made.kept {
        true => Ok(made),
        false => Err(anyhow!("{command} is not the same with a new index: {}", made.differences.join("; ")))
            .hint(|| "the earlier one stays in use: only what has changed since is searched as without"),
    }
}
