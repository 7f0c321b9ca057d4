//! The resolution as `--json` prints it. Objects are referenced by their index in `objects`.
//!
//! Names from files are bytes; invalid UTF-8 becomes replacement characters. For paths, the bytes are included.

use std::path::Path;

use coldstart_loader::{FailedProbe, FoundBy, LoadedObject, Missing, Request, Rules, Stopped};
use coldstart_profile::JsonPath;
use coldstart_startup::ProgramKind;
use serde::{Serialize, Serializer};

use super::rules::owner;
use super::{DlopenHint, LateDirectory, Resolution};

impl Serialize for Resolution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        program(self).serialize(serializer)
    }
}

#[derive(Serialize)]
struct Program {
    #[serde(flatten)]
    path: JsonPath,
    kind: &'static str,
    complete: bool,
    environment: Surroundings,
    totals: Totals,
    objects: Vec<Object>,
    requests: Vec<Asked>,
    failed_probes: Vec<Tried>,
    directory_probes: Vec<Directory>,
    missing: Vec<Unfound>,
    stopped: Option<End>,
    duplicates: Duplicates,
    late_directories: Vec<Late>,
    dlopen: Vec<Dlopen>,
    unreadable_notes: Vec<Unreadable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opened_later: Option<Vec<Opened>>,
}

#[derive(Serialize)]
struct Surroundings {
    rules: &'static str,
    release: Option<String>,
    interpreter: Option<JsonPath>,
    sysroot: Option<JsonPath>,
    cache: Option<JsonPath>,
    cache_entries: Option<usize>,
    cache_problem: Option<String>,
    hwcaps: Vec<String>,
    subfolders: Vec<String>,
    ld_library_path: Option<String>,
    ld_preload: Option<String>,
    secure: bool,
    current_directory: JsonPath,
}

#[derive(Serialize)]
struct Totals {
    libraries: usize,
    failed_probes: usize,
    directory_probes: usize,
    absent_directories: usize,
    opens: usize,
    missing: usize,
}

#[derive(Serialize)]
struct Object {
    #[serde(flatten)]
    path: JsonPath,
    name_asked: String,
    soname: Option<String>,
    rule: &'static str,
    directory: Option<JsonPath>,
    /// The owner of the RPATH or RUNPATH.
    rule_of: Option<usize>,
    requester: Option<usize>,
    preloaded: bool,
    in_scope: bool,
    failed_probes: usize,
    device: u64,
    inode: u64,
    needed: Vec<String>,
    rpath: Option<String>,
    runpath: Option<String>,
}

#[derive(Serialize)]
struct Asked {
    requester: usize,
    needed: String,
    name_asked: String,
    object: Option<usize>,
    rule: Option<&'static str>,
    preload: bool,
}

#[derive(Serialize)]
struct Tried {
    requester: usize,
    needed: String,
    #[serde(flatten)]
    path: JsonPath,
    rule: &'static str,
    rule_of: Option<usize>,
    reason: String,
}

#[derive(Serialize)]
struct Directory {
    #[serde(flatten)]
    path: JsonPath,
    exists: bool,
}

#[derive(Serialize)]
struct Unfound {
    requester: usize,
    needed: String,
    name_asked: String,
    preload: bool,
}

#[derive(Serialize)]
struct End {
    requester: usize,
    needed: String,
    #[serde(flatten)]
    path: JsonPath,
    reason: String,
}

#[derive(Serialize)]
struct Duplicates {
    same_soname: Vec<Vec<usize>>,
    other_names: Vec<OtherNames>,
}

#[derive(Serialize)]
struct OtherNames {
    object: usize,
    names: Vec<String>,
}

#[derive(Serialize)]
struct Late {
    #[serde(flatten)]
    path: JsonPath,
    rule: &'static str,
    rule_of: Option<usize>,
    libraries: usize,
    failed_probes: usize,
    directories_before: usize,
}

#[derive(Serialize)]
struct Dlopen {
    object: usize,
    feature: Option<String>,
    description: Option<String>,
    priority: &'static str,
    sonames: Vec<Name>,
}

#[derive(Serialize)]
struct Name {
    soname: String,
    found: Option<Found>,
}

#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    path: JsonPath,
    by: String,
    loaded_at_start: bool,
}

#[derive(Serialize)]
struct Unreadable {
    object: usize,
    reason: String,
}

#[derive(Serialize)]
struct Opened {
    #[serde(flatten)]
    path: JsonPath,
    soname: Option<String>,
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn program(resolution: &Resolution) -> Program {
    let closure = &resolution.closure;
    let kind = match resolution.start.kind {
        _ if resolution.start.is_its_own_loader() => "loader",
        ProgramKind::Dynamic => "dynamic",
        ProgramKind::Static => "static",
        ProgramKind::Library => "library",
    };
    Program {
        path: JsonPath::new(&resolution.start.program),
        kind,
        complete: resolution.is_complete(),
        environment: surroundings(resolution),
        totals: Totals {
            libraries: resolution.library_count(),
            failed_probes: closure.failed_probes.len(),
            directory_probes: closure.directory_probes.len(),
            absent_directories: closure.directory_probes.iter().filter(|look| !look.exists).count(),
            opens: closure.requests.iter().filter(|request| request.opened.is_some()).count(),
            missing: closure.missing.len(),
        },
        objects: closure.objects.iter().enumerate().map(|(index, object)| loaded(resolution, index, object)).collect(),
        requests: closure.requests.iter().map(asked).collect(),
        failed_probes: closure.failed_probes.iter().map(tried).collect(),
        directory_probes: closure
            .directory_probes
            .iter()
            .map(|look| Directory { path: JsonPath::new(&look.path), exists: look.exists })
            .collect(),
        missing: closure.missing.iter().map(missing).collect(),
        stopped: closure.stopped.as_ref().map(stopped),
        duplicates: Duplicates {
            same_soname: closure.same_sonames(),
            other_names: resolution
                .other_names()
                .into_iter()
                .map(|(object, names)| OtherNames { object, names: names.iter().map(|name| lossy(name)).collect() })
                .collect(),
        },
        late_directories: resolution.late_directories().iter().map(late).collect(),
        dlopen: resolution.notes.hints.iter().map(dlopen).collect(),
        unreadable_notes: resolution
            .notes
            .unreadable
            .iter()
            .map(|(object, reason)| Unreadable { object: *object, reason: reason.clone() })
            .collect(),
        opened_later: resolution.opened.as_ref().map(|opened| {
            let opened = opened.iter();
            opened
                .map(|opened| Opened { path: JsonPath::new(&opened.path), soname: opened.soname.as_deref().map(lossy) })
                .collect()
        }),
    }
}

fn surroundings(resolution: &Resolution) -> Surroundings {
    let surroundings = &resolution.start.surroundings;
    let environment = &surroundings.environment;
    Surroundings {
        rules: match environment.rules {
            Rules::Glibc => "glibc",
            Rules::Musl => "musl",
        },
        release: surroundings.build.release.map(|release| format!("2.{release}")),
        interpreter: surroundings.interpreter.as_deref().map(JsonPath::new),
        sysroot: resolution.start.files.root().sysroot().map(JsonPath::new),
        cache: surroundings.cache_file.as_deref().map(JsonPath::new),
        cache_entries: environment.cache.as_ref().map(|cache| cache.entries().len()),
        cache_problem: surroundings.cache_problem.clone(),
        hwcaps: environment.hwcaps.levels.iter().map(|level| lossy(level)).collect(),
        subfolders: environment.hwcaps.subdirectories().iter().map(|subfolder| lossy(subfolder)).collect(),
        ld_library_path: environment.ld_library_path.as_deref().map(lossy),
        ld_preload: environment.ld_preload.as_deref().map(lossy),
        secure: environment.secure,
        current_directory: JsonPath::new(&environment.current_directory),
    }
}

fn loaded(resolution: &Resolution, index: usize, object: &LoadedObject) -> Object {
    let is_searched = matches!(
        object.found_by,
        FoundBy::Rpath { .. } | FoundBy::Runpath { .. } | FoundBy::LdLibraryPath | FoundBy::DefaultDirectory
    );
    let directory = is_searched.then(|| resolution.listed_directory(&object.path));
    Object {
        path: JsonPath::new(&object.path),
        name_asked: lossy(&object.name_asked),
        soname: object.facts.soname.as_deref().map(lossy),
        rule: object.found_by.name(),
        directory: directory.as_deref().map(JsonPath::new),
        rule_of: owner(object.found_by),
        requester: object.requester,
        preloaded: object.preloaded,
        in_scope: object.in_scope,
        failed_probes: resolution.failed_before(index),
        device: object.identity.device,
        inode: object.identity.inode,
        needed: object.facts.needed.iter().map(|needed| lossy(needed)).collect(),
        rpath: object.facts.rpath.as_deref().map(lossy),
        runpath: object.facts.runpath.as_deref().map(lossy),
    }
}

fn asked(request: &Request) -> Asked {
    Asked {
        requester: request.requester,
        needed: lossy(&request.needed),
        name_asked: lossy(&request.name_asked),
        object: request.object,
        rule: request.found_by.map(FoundBy::name),
        preload: request.preload,
    }
}

fn tried(probe: &FailedProbe) -> Tried {
    Tried {
        requester: probe.requester,
        needed: lossy(&probe.needed),
        path: JsonPath::new(&probe.path),
        rule: probe.rule.name(),
        rule_of: owner(probe.rule),
        reason: probe.failure.to_string(),
    }
}

fn missing(missing: &Missing) -> Unfound {
    Unfound {
        requester: missing.requester,
        needed: lossy(&missing.needed),
        name_asked: lossy(&missing.name_asked),
        preload: missing.preload,
    }
}

fn stopped(stopped: &Stopped) -> End {
    End {
        requester: stopped.requester,
        needed: lossy(&stopped.needed),
        path: JsonPath::new(Path::new(&stopped.path)),
        reason: stopped.reason.to_string(),
    }
}

fn late(late: &LateDirectory) -> Late {
    Late {
        path: JsonPath::new(&late.directory),
        rule: late.rule.name(),
        rule_of: owner(late.rule),
        libraries: late.libraries,
        failed_probes: late.failed,
        directories_before: late.directories_before,
    }
}

fn dlopen(hint: &DlopenHint) -> Dlopen {
    let sonames = hint.alternatives.iter().map(|alternative| Name {
        soname: alternative.soname.clone(),
        found: alternative.found.as_ref().map(|found| Found {
            path: JsonPath::new(&found.path),
            by: found.rule.clone(),
            loaded_at_start: found.is_loaded,
        }),
    });
    Dlopen {
        object: hint.object,
        feature: hint.entry.feature.clone(),
        description: hint.entry.description.clone(),
        priority: hint.entry.priority.name(),
        sonames: sonames.collect(),
    }
}
