//! A program with everything that it loads, as the dynamic loader would find it with the environment we were given.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use coldstart_elf::{ElfFile, FileType};
use coldstart_inspect::{Inspection, Missing, Offers, SearchCost, Unused, Wants};
use coldstart_loader::cache::LdSoCache;
use coldstart_loader::{Closure, Disk, Environment, Hwcaps, Identity, LoaderBuild, ObjectFacts, hwcaps, resolve};
use coldstart_sys::file_view::FileView;
use rayon::prelude::*;

use super::read::{ReadError, look_into};
use crate::commands::reading::open_regular;
use crate::error::{CliError, HintExt};
use crate::output::path::printable;

/// What a program loads.
pub(super) struct ProgramLoads {
    /// The closure, as the loader's rules give it.
    pub(super) closure: Closure,
    /// Every object with its inspection, or why there is none, in the order of loading.
    pub(super) objects: Vec<(PathBuf, Result<Inspection, ReadError>)>,
    /// What the search costs.
    pub(super) cost: SearchCost,
}

/// Follows a program's libraries and inspects them all.
pub(super) fn follow(
    program: &Path,
    inspect: impl Fn(&Path) -> Result<Inspection, ReadError> + Sync,
) -> Result<ProgramLoads, CliError> {
    let own = inspect(program)?;
    let environment = environment(program)?;
    let closure = if own.parts.layout.dynamic.is_none() || is_its_own_loader(program, &environment) {
        alone(program)
    } else {
        resolve(program, &Disk::new(facts), &environment)
            .hint(|| "its loader is not on this machine; without --closure the file itself can be inspected")?
    };
    let libraries: Vec<&Path> = closure.objects.iter().skip(1).map(|object| object.path.as_path()).collect();
    let mut objects = vec![(program.to_owned(), Ok(own))];
    objects.par_extend(libraries.into_par_iter().map(|path| (path.to_owned(), inspect(path))));
    let cost = cost(&closure, &objects);
    Ok(ProgramLoads { closure, objects, cost })
}

/// Whether the program is the very loader that would load it.
fn is_its_own_loader(program: &Path, environment: &Environment) -> bool {
    let loader = environment.interpreter.clone().map(|path| PathBuf::from(std::ffi::OsString::from_vec(path)));
    let identity = |path: &Path| facts(path).ok().map(|(identity, _)| identity);
    loader.is_some_and(|loader| identity(&loader).is_some_and(|loader| identity(program) == Some(loader)))
}

/// The closure of a program that loads nothing.
fn alone(program: &Path) -> Closure {
    let object = coldstart_loader::LoadedObject {
        path: program.to_owned(),
        name_asked: Vec::new(),
        found_by: coldstart_loader::FoundBy::Program,
        requester: None,
        preloaded: false,
        in_scope: true,
        identity: Identity::default(),
        facts: ObjectFacts::default(),
    };
    Closure {
        objects: vec![object],
        requests: Vec::new(),
        failed_probes: Vec::new(),
        directory_probes: Vec::new(),
        missing: Vec::new(),
        stopped: None,
    }
}

/// The environment that a start from here would have.
fn environment(program: &Path) -> Result<Environment, CliError> {
    let variable = |name| std::env::var_os(name).map(OsStringExt::into_vec);
    let mut environment = Environment {
        ld_library_path: variable("LD_LIBRARY_PATH"),
        ld_preload: variable("LD_PRELOAD"),
        platform: hwcaps::platform_of_this_cpu().map(|platform| platform.as_bytes().to_vec()),
        current_directory: std::env::current_dir()?,
        ..Environment::default()
    };
    let own_facts = facts(program).map(|(_, facts)| facts).unwrap_or_default();
    let interpreter = own_facts.interpreter.or_else(|| {
        // A library is loaded by the loader of the programs here; ours is one of them.
        facts(Path::new("/proc/self/exe")).ok().and_then(|(_, facts)| facts.interpreter)
    });
    let gains_rights = program.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o6000 != 0);
    environment.secure = gains_rights;
    if let Some(interpreter) = &interpreter {
        let path = PathBuf::from(std::ffi::OsString::from_vec(interpreter.clone()));
        if let Ok(bytes) = std::fs::read(&path) {
            let build = LoaderBuild::read(&bytes);
            build.apply(&mut environment);
            environment.hwcaps = build.release.map(Hwcaps::of_this_cpu).unwrap_or_default();
            let cache = build.cache_path.clone().map(|path| PathBuf::from(std::ffi::OsString::from_vec(path)));
            environment.cache = cache.and_then(|path| LdSoCache::parse(&std::fs::read(path).ok()?).ok());
        }
    }
    environment.preload_file = std::fs::read("/etc/ld.so.preload").ok();
    environment.interpreter = interpreter;
    Ok(environment)
}

/// What the loader looks at in an object, and which file it is.
fn facts(path: &Path) -> io::Result<(Identity, ObjectFacts)> {
    let mut file = open_regular(path)?;
    let metadata = file.metadata()?;
    let mut magic = [0; 4];
    file.read_exact(&mut magic)?;
    let view = FileView::map(&file)?;
    let invalid = |error: coldstart_elf::ElfError| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
    let elf = ElfFile::parse(view.bytes()).map_err(invalid)?;
    if !matches!(elf.header().file_type, FileType::Dynamic | FileType::Executable) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no shared object"));
    }
    let identity = Identity { device: metadata.dev(), inode: metadata.ino() };
    let facts = ObjectFacts::of(&elf).map_err(invalid)?;
    Ok((identity, ObjectFacts { set_user_id: metadata.permissions().mode() & 0o4000 != 0, ..facts }))
}

/// What the search cost, and which libraries nobody who needs them uses.
fn cost(closure: &Closure, objects: &[(PathBuf, Result<Inspection, ReadError>)]) -> SearchCost {
    let name = |index: usize| {
        let path = closure.objects.get(index).map(|object| object.path.as_path()).unwrap_or(Path::new(""));
        printable(Path::new(path.file_name().unwrap_or_default()))
    };
    let mut by_rule = BTreeMap::new();
    for probe in &closure.failed_probes {
        *by_rule.entry(probe.rule.to_string()).or_insert(0) += 1;
    }
    let text = |bytes: &[u8]| printable(Path::new(&std::ffi::OsString::from_vec(bytes.to_vec())));
    let missing = closure.missing.iter().map(|missing| Missing {
        library: text(&missing.needed),
        needed_by: name(missing.requester),
        is_preloaded: missing.preload,
    });
    SearchCost {
        failed_probes: closure.failed_probes.len() as u64,
        failed_probes_by_rule: by_rule,
        missing: missing.collect(),
        unused: unused(closure, objects, name),
    }
}

/// Libraries that no object refers to by any symbol.
fn unused(
    closure: &Closure,
    objects: &[(PathBuf, Result<Inspection, ReadError>)],
    name: impl Fn(usize) -> String,
) -> Vec<Unused> {
    let wants = |path: &Path| look_into(path, |file| Wants::of(file).ok()).ok().flatten();
    let wants: Vec<Option<Wants>> = closure.objects.iter().map(|object| wants(&object.path)).collect();
    let mut unused = Vec::new();
    for (library, object) in closure.objects.iter().enumerate() {
        let requests = closure.requests.iter().filter(|request| request.object == Some(library));
        let mut requesters: Vec<usize> =
            requests.filter(|request| !request.preload).map(|request| request.requester).collect();
        requesters.dedup();
        // What is preloaded or is the loader is there on purpose.
        if requesters.is_empty() || object.preloaded || is_loader(closure, object) {
            continue;
        }
        // Objects that need it first: one of them nearly always uses it. The rest may use it without saying so. What
        // cannot be told counts as used.
        let others = (0..closure.objects.len()).filter(|other| *other != library && !requesters.contains(other));
        let is_used = look_into(&object.path, |file| {
            let Some(offers) = Offers::of(file) else { return true };
            let uses = |other: usize| match wants.get(other) {
                Some(Some(wants)) => offers.any(wants),
                _ => true,
            };
            requesters.iter().copied().chain(others).any(uses)
        });
        if is_used.unwrap_or(true) {
            continue;
        }
        let inspection = objects.get(library).and_then(|(_, inspection)| inspection.as_ref().ok());
        unused.push(Unused {
            library: name(library),
            needed_by: requesters.iter().map(|requester| name(*requester)).collect(),
            private_pages: inspection.map_or(0, |inspection| inspection.parts.relocations.dirtied_pages.pages),
            seeks: inspection.map_or(0, |inspection| inspection.parts.loader_reads.seeks),
        });
    }
    unused
}

fn is_loader(closure: &Closure, object: &coldstart_loader::LoadedObject) -> bool {
    object.found_by == coldstart_loader::FoundBy::Interpreter
        || closure.objects.first().is_some_and(|program| {
            let interpreter = program.facts.interpreter.as_deref().unwrap_or_default();
            let name = interpreter.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            !name.is_empty() && object.name_asked.ends_with(name)
        })
}
