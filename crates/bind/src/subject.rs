//! The program to bind: its properties, the checks on it, and the libraries it loads at each level.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use coldstart_loader::{Environment, FileSystem, Identity, ObjectFacts, Probe, ProbeFailure, Rules};
use coldstart_startup::rules_of_loader;

use crate::hoist::{Hoisted, hoist, lossy};
use crate::keep::{Kept, kept};
use crate::origin::Tree;
use crate::overlay::Overlay;
use crate::survey::{Legacy, Survey, level_sets, with_all_legacy_directories};
use crate::{Details, Files, Mode, Options, Program, Refusal};

/// The program at the start of planning.
pub(crate) struct Subject {
    /// Its path without symbolic links; for a bound program, that of the original.
    pub(crate) program: PathBuf,
    /// The path of the bound program.
    pub(crate) output: PathBuf,
    pub(crate) identity: Identity,
    /// Its facts; for a bound program, those of the original.
    pub(crate) facts: ObjectFacts,
}

/// The libraries that the program loads on processors of one level.
pub(crate) struct AtLevel {
    /// The levels of these processors, best first.
    pub(crate) levels: Vec<String>,
    pub(crate) survey: Survey,
    pub(crate) tree: Tree,
    pub(crate) hoisted: Vec<Hoisted>,
    /// Details of each object.
    pub(crate) details: Vec<Details>,
    pub(crate) kept: Vec<Kept>,
}

impl Subject {
    /// Reads the program, and refuses files that are not programs or must not be bound.
    pub(crate) fn of(
        program: &Program,
        files: &impl Files,
        environment: &Environment,
        options: &Options,
    ) -> Result<Self, Refusal> {
        let path = files.canonical(&program.path).ok_or_else(|| Refusal::NoProgram(program.path.clone()))?;
        let unreadable = |reason| Refusal::Unreadable(coldstart_loader::Error::Program { path: path.clone(), reason });
        let (identity, mut facts) = match files.object(&path) {
            Probe::Object { identity, facts } => (identity, facts),
            Probe::Absent(kind) => return Err(unreadable(ProbeFailure::Absent(kind))),
            Probe::NotAnObject(reason) => return Err(unreadable(ProbeFailure::NotAnObject(reason))),
        };
        if facts.interpreter.is_none() {
            return Err(if details(files, &path)?.is_program { Refusal::Static } else { Refusal::Library });
        }
        if let Some(binding) = &program.binding {
            if !options.rebind {
                let farm = binding.farm.as_ref().map(|farm| farm.text.clone());
                return Err(Refusal::AlreadyBound { mode: binding.mode.name(), farm });
            }
            crate::status::make_original(&mut facts, binding);
        }
        // For a program bound to another path, searches start at the original path.
        let before = program.binding.as_ref().and_then(|binding| binding.original_program.as_ref());
        allowed(&facts, program.secure || environment.secure, environment.rules, options)?;
        let output = match &options.output {
            Some(output) if !output.is_absolute() => return Err(Refusal::NotAbsolute(output.clone())),
            Some(output) => followed(files, output),
            None => path.clone(),
        };
        let path = before.map_or(path, PathBuf::from);
        Ok(Self { program: path, output, identity, facts })
    }

    /// The files with the original program in its place.
    pub(crate) fn original<'a, Inner: FileSystem>(&'a self, files: &'a Inner) -> Overlay<'a, Inner> {
        Overlay::new(files, &self.program, (self.identity, self.facts.clone()), None)
    }

    /// What the program loads at each level, from none to all.
    pub(crate) fn survey(
        &self,
        files: &impl Files,
        environment: &Environment,
        options: &Options,
    ) -> Result<Vec<AtLevel>, Refusal> {
        let overlay = self.original(files);
        let stays = self.output.parent() == self.program.parent();
        let mut all: Vec<AtLevel> = Vec::new();
        for levels in level_sets(environment.rules, &self.facts, options.levels.as_deref()) {
            let with = |legacy: Legacy| legacy.with(&levels, &environment.hwcaps);
            let survey = Survey::of(&self.program, &overlay, environment, with(Legacy::AsGiven))?;
            let tree = Tree::of(&survey.closure, &self.program, stays);
            let hoisted = hoist(&survey, &tree)?;
            if environment.hwcaps.combined.is_some() {
                let every = with_all_legacy_directories(&self.facts, with(Legacy::AsGiven));
                let every = Survey::of(&self.program, &overlay, environment, every)?;
                let none = Survey::of(&self.program, &overlay, environment, with(Legacy::Without))?;
                no_legacy_directory(&every, &none)?;
            }
            if let Some(base) = all.first() {
                same_names(base, &hoisted, &levels)?;
            }
            let objects = survey.closure.objects.iter();
            let details: Vec<Details> = objects.map(|object| details(files, &object.path)).collect::<Result<_, _>>()?;
            if let Some(place) = details.iter().position(|details| details.filters) {
                let path = survey.closure.objects.get(place).map(|object| object.path.clone());
                return Err(Refusal::Filter(path.unwrap_or_default()));
            }
            let kept = kept(&survey.closure, &hoisted, &details, &options.keep_path);
            all.push(AtLevel { levels, survey, tree, hoisted, details, kept });
        }
        Ok(all)
    }
}

/// The properties of a file.
fn details(files: &impl Files, path: &Path) -> Result<Details, Refusal> {
    files.details(path).map_err(|error| Refusal::File { path: path.to_owned(), reason: error.to_string() })
}

/// A path with the links in its directory resolved.
pub(crate) fn followed(files: &impl FileSystem, path: &Path) -> PathBuf {
    let directory = path.parent().and_then(|parent| files.canonical(parent));
    match directory.zip(path.file_name()) {
        Some((directory, name)) => directory.join(name),
        None => crate::origin::without_dots(path),
    }
}

/// Refuses programs because of their interpreter or privileges.
fn allowed(facts: &ObjectFacts, secure: bool, rules: Rules, options: &Options) -> Result<(), Refusal> {
    let interpreter = facts.interpreter.as_deref().unwrap_or_default();
    let name = interpreter.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if rules_of_loader(name) != Some(rules) {
        return Err(Refusal::Interpreter(lossy(interpreter)));
    }
    if rules == Rules::Musl {
        let reason = match options.mode {
            Mode::Soname => None,
            Mode::Absolute => Some("it does not match names to libraries opened by path"),
            Mode::Origin => Some("it does not support `$ORIGIN` in names"),
            Mode::Audit => Some("it does not support DT_AUDIT"),
        };
        if let Some(reason) = reason {
            return Err(Refusal::Musl { mode: options.mode.name(), reason });
        }
    }
    if secure {
        match options.mode {
            Mode::Origin => {
                return Err(Refusal::SecureMode("glibc refuses `$ORIGIN` in names in secure mode"));
            }
            Mode::Audit => return Err(Refusal::SecureMode("glibc ignores DT_AUDIT with a path in secure mode")),
            _ if !options.allow_secure => return Err(Refusal::Secure),
            _ => {}
        }
    }
    Ok(())
}

/// Refuses a library that is only in legacy subdirectories.
fn no_legacy_directory(every: &Survey, none: &Survey) -> Result<(), Refusal> {
    let differs = every.requests().zip(none.requests()).find(|((_, every), (_, none))| every != none);
    match differs {
        None => Ok(()),
        Some(((request, path), _)) => Err(Refusal::LegacyDirectory {
            library: lossy(&request.needed),
            path: path.and_then(|path| path.parent()).map(Path::to_owned).unwrap_or_default(),
        }),
    }
}

/// Requires the same names in the same order at another level.
fn same_names(base: &AtLevel, there: &[Hoisted], levels: &[String]) -> Result<(), Refusal> {
    let text =
        |names: &[Hoisted], place: usize| names.get(place).map_or("nothing more".to_owned(), |name| name.text.clone());
    let count = base.hoisted.len().max(there.len());
    let differs = (0..count).find(|place| text(&base.hoisted, *place) != text(there, *place));
    match differs {
        None => Ok(()),
        Some(place) => Err(Refusal::LevelsDiffer {
            level: levels.first().cloned().unwrap_or_default(),
            there: text(there, place),
            here: text(&base.hoisted, place),
        }),
    }
}

/// The last component of a path.
pub(crate) fn file_name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}
