//! A closed world: all programs that load a file, and what each of them loads before it.
//!
//! In other programs, an object could take over a symbol of the file. In these, the loader's rules say which objects come
//! first. What a program opens later is known from traces only; such objects count as if they came first, because their place
//! in the scope depends on the program's own code.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_elf::{ElfError, ElfFile};
use coldstart_loader::{Definitions, Identity, is_filter, not_interposed};
use coldstart_profile::printable;
use coldstart_profile::trace::Trace;
use coldstart_rewrite::ClosedWorld;
use coldstart_startup::StartOptions;
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::open_regular;

use crate::error::{AppError, HintExt};
use crate::observer::Observer;
use crate::{command, kinds, reading, starting, trace};

/// The programs, and the contents of everything that they load.
#[derive(Debug)]
pub(crate) struct World {
    /// Absolute paths of the programs and traces.
    named: Vec<String>,
    starts: Vec<Loads>,
    contents: HashMap<Identity, FileView>,
}

/// What one program loads.
#[derive(Debug, Default)]
struct Loads {
    /// At its start, in lookup order.
    scope: Vec<Identity>,
    /// What a trace shows besides: opened later, or preloaded.
    others: HashSet<Identity>,
}

impl World {
    /// Of these programs and traces. A trace stands for the programs that ran in it.
    ///
    /// # Errors
    /// If one is missing, does not find all its libraries, or loads an object whose look-ups the model does not cover.
    pub(crate) fn of(named: &[PathBuf], observer: &dyn Observer) -> Result<Self, AppError> {
        let mut world = Self { named: Vec::new(), starts: Vec::new(), contents: HashMap::new() };
        for path in named {
            let found = if is_trace(path) {
                world.add_trace(path, &trace::read(path)?, observer)?;
                path.canonicalize().with_context(|| format!("cannot read `{}`", printable(path)))?
            } else {
                world.add_program(path, HashSet::new(), observer)?
            };
            world.named.push(found.to_string_lossy().into_owned());
        }
        Ok(world)
    }

    /// The symbols of all objects.
    ///
    /// # Errors
    /// If a table of an object cannot be read.
    pub(crate) fn symbols(&self) -> Result<WorldSymbols<'_>, AppError> {
        let mut definitions = HashMap::new();
        for (identity, view) in &self.contents {
            let of_object = ElfFile::parse(view.bytes()).and_then(|file| Definitions::of(&file));
            let of_object = of_object.context("cannot read the symbols of an object of the closed world")?;
            definitions.extend(of_object.map(|of_object| (*identity, of_object)));
        }
        Ok(WorldSymbols { world: self, definitions })
    }

    /// What a program loads at its start, beside `others`. The result is its path.
    fn add_program(
        &mut self,
        program: &Path,
        others: HashSet<Identity>,
        observer: &dyn Observer,
    ) -> Result<PathBuf, AppError> {
        let start = starting::start(program, &StartOptions::default(), observer)?;
        let closure = starting::closure(&start)?;
        let name = printable(program);
        let lost = closure.missing.iter().find(|missing| !missing.preload).map(|missing| &missing.needed);
        if let Some(lost) = lost.or(closure.stopped.as_ref().map(|stopped| &stopped.needed)) {
            let lost = String::from_utf8_lossy(lost).into_owned();
            let resolve = command::of_ours("resolve", [program.as_os_str()]);
            return Err(anyhow!("`{name}` does not find all that it loads: `{lost}`"))
                .hint(|| format!("`{resolve}` shows where it is searched"));
        }
        let mut loads = Loads { scope: Vec::new(), others };
        for object in closure.objects.iter().filter(|object| object.in_scope) {
            self.read(&object.path, object.identity)?;
            loads.scope.push(object.identity);
        }
        loads.others.retain(|object| !loads.scope.contains(object));
        self.starts.push(loads);
        Ok(start.program)
    }

    /// The programs of a trace, with all objects that it saw.
    fn add_trace(&mut self, path: &Path, trace: &Trace, observer: &dyn Observer) -> Result<(), AppError> {
        let mut others = HashSet::new();
        for object in &trace.objects {
            let Some(file) = trace.file(object.file) else { continue };
            let status = std::fs::metadata(&file.path).with_context(|| {
                format!("cannot read `{}`, which `{}` has loaded", printable(&file.path), printable(path))
            });
            let status = status.hint(|| "record the trace again")?;
            let identity = identity(&status);
            self.read(&file.path, identity)?;
            others.insert(identity);
        }
        let programs: BTreeSet<&PathBuf> =
            trace.processes.iter().filter(|process| process.executed).map(|process| &process.program).collect();
        for program in programs {
            self.add_program(program, others.clone(), observer)?;
        }
        Ok(())
    }

    /// Maps an object, and makes sure that the model covers it.
    fn read(&mut self, path: &Path, identity: Identity) -> Result<(), AppError> {
        if self.contents.contains_key(&identity) {
            return Ok(());
        }
        let context = || format!("cannot read `{}` of the closed world", printable(path));
        let view = reading::map(path).with_context(context)?;
        let file = ElfFile::parse(view.bytes()).with_context(context)?;
        if let Some(dynamic) = file.dynamic().with_context(context)?
            && is_filter(&dynamic)
        {
            let error = anyhow!("`{}` has DT_FILTER or DT_AUXILIARY, whose look-ups are not modelled", printable(path));
            return Err(error).hint(|| "without --closed-world, only certain references are bound");
        }
        self.contents.insert(identity, view);
        Ok(())
    }
}

/// A closed world with the symbols of its objects.
#[derive(Debug)]
pub(crate) struct WorldSymbols<'w> {
    world: &'w World,
    definitions: HashMap<Identity, Definitions<'w>>,
}

impl WorldSymbols<'_> {
    /// What is known of a file by its path.
    ///
    /// # Errors
    /// If a table of the file cannot be read.
    pub(crate) fn closed(&self, path: &Path, file: &ElfFile<'_>) -> Result<ClosedWorld, ElfError> {
        // A file that is gone is loaded by no program.
        let identity = std::fs::metadata(path).map_or_else(|_| Identity::default(), |status| identity(&status));
        let mut symbols: Option<BTreeSet<u32>> = None;
        for start in &self.world.starts {
            let before: Vec<&Identity> = match start.scope.iter().position(|object| *object == identity) {
                Some(place) => start.scope.iter().take(place).chain(&start.others).collect(),
                None if start.others.contains(&identity) => start.scope.iter().chain(&start.others).collect(),
                None => continue,
            };
            let before = before.into_iter().filter(|object| **object != identity);
            let before: Vec<_> = before.filter_map(|object| self.definitions.get(object)).collect();
            let here = not_interposed(file, &before)?;
            symbols = Some(match symbols {
                Some(there) => there.intersection(&here).copied().collect(),
                None => here,
            });
        }
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let file = real.to_string_lossy().into_owned();
        let world = coldstart_rewrite::World { file, programs: self.world.named.clone() };
        Ok(ClosedWorld { world, not_interposed: symbols })
    }
}

fn identity(status: &std::fs::Metadata) -> Identity {
    Identity { device: status.dev(), inode: status.ino() }
}

/// Whether a file is a trace, rather than a program.
fn is_trace(path: &Path) -> bool {
    open_regular(path).is_ok_and(|file| (kinds::TRACE.recognises)(&file).unwrap_or(false))
}
