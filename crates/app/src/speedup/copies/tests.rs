use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use coldstart_launch::{CommandLine, Interrupt, LaunchOptions, Output, launch};
use coldstart_pagecache::{Detail, EvictOptions, evict, residency};
use coldstart_prefetch::TargetOutcome;
use coldstart_profile::plan::PlanView;
use coldstart_profile::{FileIdentity, printable};
use coldstart_sys::private_mounts::{Overlay, PrivateMounts, PrivateMountsError};
use coldstart_testing::{compile, scratch, script, skip};
use tempfile::TempDir;

use super::*;
use crate::prefetch::PlanRecorder;

/// A program with a library that has many relocations, found behind an empty directory on its search path.
struct Scene {
    directory: TempDir,
    program: PathBuf,
    library: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let directory = scratch();
        let here = directory.path().canonicalize().unwrap();
        for name in ["lib space", "empty"] {
            fs::create_dir(here.join(name)).unwrap();
        }
        let library = here.join("lib space/libmany.so");
        let source = "static int word = 7;\n\
                      #define A &word, &word, &word, &word, &word, &word, &word, &word,\n\
                      #define B A A A A A A A A\n\
                      #define C B B B B B B B B\n\
                      int *const table[] = { C C C C C C C C };\n\
                      int sum(void) { int sum = 0; for (unsigned at = 0; at < sizeof table / sizeof *table; at++) \
                      sum += *((int *const volatile *)table)[at]; return sum; }\n";
        compile(
            "cc",
            &library,
            source,
            &["-shared", "-fPIC", "-O1", "-Wl,-z,nopack-relative-relocs", "-Wl,-soname,libmany.so"],
        );
        let program = here.join("program");
        let main = "#include <stdio.h>\nint sum(void); int main(void) { printf(\"%d\\n\", sum()); return 0; }";
        let empty = format!("-Wl,-rpath,{}", here.join("empty").display());
        let path = format!("-Wl,-rpath,{}", here.join("lib space").display());
        let flags = [library.to_str().unwrap(), &empty, &path, "-Wl,--enable-new-dtags"];
        compile("cc", &program, main, &flags);
        Self { directory, program, library }
    }

    fn copies(&self) -> TrialDirectory {
        TrialDirectory::beside(&self.program, 1 << 20, &[self.directory.path().to_owned()]).unwrap()
    }

    fn options(&self, overlays: &[Overlay]) -> Option<LaunchOptions> {
        let mounts = match PrivateMounts::create(overlays) {
            Err(error @ PrivateMountsError::Impossible { .. }) => {
                skip(&error.to_string());
                return None;
            }
            made => Some(Arc::new(made.unwrap())),
        };
        Some(LaunchOptions { mounts, time_limit: Some(Duration::from_secs(120)), ..LaunchOptions::default() })
    }

    /// What the program prints in a view.
    fn said(&self, options: &LaunchOptions, program: &Path) -> String {
        let output = self.directory.path().join("output");
        let options = LaunchOptions { output: Output::File(output.clone()), ..options.clone() };
        let none: [&str; 0] = [];
        let launched = launch(&CommandLine::new(program, none), &options, None, &mut || ()).unwrap();
        assert!(launched.succeeded(), "{launched:?}: {}", fs::read_to_string(&output).unwrap());
        fs::read_to_string(&output).unwrap()
    }
}

#[test]
fn the_files_of_scripts_and_of_what_they_start_are_found() {
    let scene = Scene::new();
    let here = scene.directory.path();
    let wrapper = script(here, "wrapper", format!("#!/usr/bin/env -S sh -e\n'{}'\n", scene.program.display()), 0o755);
    let seen = [scene.program.clone(), "/etc/passwd".into()];
    let found = closure_of(wrapper.as_os_str(), &seen).unwrap();
    assert!(found.program.is_absolute() && found.files[0] == found.program, "{found:?}");
    assert!(found.files.contains(&scene.program) && found.files.contains(&scene.library), "{found:?}");
    assert!(!found.files.contains(&PathBuf::from("/etc/passwd")) && !found.files.contains(&wrapper));
    let real: Vec<_> = found.files.iter().map(|file| file.canonicalize().unwrap()).collect();
    assert_eq!(real, found.files);
    assert!(found.privileged.is_empty());
    let set_user_id = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set_user_id(&scene.program, 0o4755);
    assert_eq!(closure_of(wrapper.as_os_str(), &seen).unwrap().privileged, std::slice::from_ref(&scene.program));
    // A static program has no interpreter, and a library that is set-user-ID gains nothing.
    let (main, fixed) = ("int main(void) { return 0; }", here.join("static"));
    compile("cc", &fixed, main, &["-static"]);
    set_user_id(&fixed, 0o4755);
    set_user_id(&scene.library, 0o4755);
    let seen = [seen[0].clone(), fixed.clone(), scene.library.clone()];
    assert_eq!(closure_of(wrapper.as_os_str(), &seen).unwrap().privileged, [scene.program.clone(), fixed]);
    assert!(closure_of(OsStr::new("no-such-program-anywhere"), &[]).is_err());
}

#[test]
fn a_plan_recorded_with_packed_copies_brings_their_pages_and_stays_valid_in_place() {
    let scene = Scene::new();
    let copies = scene.copies();
    let interrupt = Interrupt::listen().unwrap();
    let files = [scene.program.clone(), scene.library.clone(), "/etc/passwd".into()];
    let planned = planned_packing(&files, &interrupt).unwrap();
    assert!(planned.bytes_saved() >= 65_536, "{planned:?}");
    assert!(planned.refused.iter().any(|(path, _)| path == Path::new("/etc/passwd")), "{planned:?}");
    let packed = write_packed(&planned.worth, &copies, &interrupt).unwrap();
    let [overlay] = packed.overlays.as_slice() else { panic!("{packed:?}") };
    assert_eq!(overlay.original, scene.library);
    let stat = |path: &Path| fs::metadata(path).unwrap();
    let (copy, original) = (stat(&overlay.replacement), stat(&overlay.original));
    assert_eq!(
        (copy.mtime(), copy.mtime_nsec(), copy.mode(), copy.dev()),
        (original.mtime(), original.mtime_nsec(), original.mode(), original.dev())
    );
    assert_eq!(original.len() - copy.len(), planned.bytes_saved());
    assert_eq!(copy.len(), planned.worth[0].after);

    let (Some(options), Some(plain)) = (scene.options(&packed.overlays), scene.options(&[])) else { return };
    assert_eq!(scene.said(&options, &scene.program), scene.said(&plain, &scene.program));
    for file in [&scene.program, &scene.library, &overlay.replacement] {
        evict(file, EvictOptions { write_first: true }).unwrap();
    }
    let command = CommandLine { program: scene.program.clone().into(), arguments: Vec::new() };
    let recorder = PlanRecorder {
        command: &command,
        options: &options,
        strategy: None,
        make_cold: crate::prefetch::MakeCold::Nothing,
        without: None,
    };
    let plan = recorder.record().unwrap();
    let used = plan.working_set.files.iter().find(|file| file.path == scene.library).expect("under its own name");
    assert_eq!(used.identity, FileIdentity::from_stat(copy.len() as i64, copy.mtime(), copy.mtime_nsec()));
    let bytes = plan.plan.to_bytes().unwrap();
    let plan_view = PlanView::read(&bytes).unwrap();
    let changed = |outcomes: Vec<TargetOutcome>| {
        outcomes.iter().filter(|outcome| matches!(outcome, TargetOutcome::Changed { .. })).count()
    };
    let inside = coldstart_prefetch::check_targets_inside(&plan_view, options.mounts.as_deref());
    assert_eq!((changed(inside), changed(coldstart_prefetch::check_targets(&plan_view))), (0, 1));

    // In place of the original, with the same time, it is valid for everybody.
    let kept = scene.directory.path().join("kept");
    fs::rename(&scene.library, &kept).unwrap();
    fs::copy(&overlay.replacement, &scene.library).unwrap();
    resemble(&scene.library, &kept).unwrap();
    assert_eq!(changed(coldstart_prefetch::check_targets(&plan_view)), 0);
}

#[test]
fn a_bound_copy_starts_in_its_view_as_if_in_place() {
    let scene = Scene::new();
    let copies = scene.copies();
    let interrupt = Interrupt::listen().unwrap();
    let bound = bound_copy(&scene.program, &copies, &interrupt).unwrap();
    assert!(bound.probes_saved >= 1, "{bound:?}");
    let links = bound.links.clone().expect("links");
    assert!(links.starts_with(copies.path()) && links.join("libmany.so").exists(), "{}", printable(&links));
    let (Some(options), Some(plain)) = (scene.options(std::slice::from_ref(&bound.overlay)), scene.options(&[])) else {
        return;
    };
    let expected = scene.said(&plain, &scene.program);
    assert_eq!(scene.said(&options, &scene.program), expected);
    // The loader's own word for where it found the library.
    let mut traced = options.clone();
    traced.environment.push(("LD_DEBUG".into(), Some("libs".into())));
    let told = scene.said(&traced, &scene.program);
    assert!(!told.contains("/empty/libmany.so") && told.contains(links.to_str().unwrap()), "{told}");
    // Both at once.
    let planned = planned_packing(std::slice::from_ref(&scene.library), &interrupt).unwrap();
    let mut overlays = write_packed(&planned.worth, &copies, &interrupt).unwrap().overlays;
    overlays.push(bound.overlay);
    let Some(both) = scene.options(&overlays) else { return };
    assert_eq!(scene.said(&both, &scene.program), expected);
    evict(&overlays[0].replacement, EvictOptions { write_first: true }).unwrap();
    // Another process may drop the caches right after a start.
    let is_read = coldstart_testing::within(Duration::from_secs(60), || {
        assert_eq!(scene.said(&both, &scene.program), expected);
        let resident = residency(&overlays[0].replacement, Detail::Counts).unwrap().resident_pages();
        resident.is_none_or(|pages| pages > 0)
    });
    assert!(is_read, "it is the copy that was read");
}

#[test]
fn unchanged_copies_lie_on_other_blocks_and_are_the_same() {
    let scene = Scene::new();
    fs::set_permissions(&scene.program, fs::Permissions::from_mode(0o711)).unwrap();
    let originals = [scene.program.clone(), scene.library.clone()];
    let (overlays, directories) = unchanged_copies(&originals, &Interrupt::listen().unwrap()).unwrap();
    assert_eq!(overlays.iter().map(|overlay| overlay.original.clone()).collect::<Vec<_>>(), originals);
    for Overlay { original, replacement } in &overlays {
        assert_eq!(fs::read(original).unwrap(), fs::read(replacement).unwrap());
        let [a, b] = [original, replacement].map(|path| fs::metadata(path).unwrap());
        assert_eq!(
            (a.mode(), a.mtime(), a.mtime_nsec(), a.dev(), a.uid(), a.gid()),
            (b.mode(), b.mtime(), b.mtime_nsec(), b.dev(), b.uid(), b.gid())
        );
        let blocks = |path: &Path| {
            let extents = coldstart_sys::fiemap::fiemap(fs::File::open(path).unwrap()).unwrap_or_default();
            extents.iter().filter_map(coldstart_sys::fiemap::Extent::device_offset).collect::<Vec<_>>()
        };
        assert!(blocks(replacement).iter().all(|place| !blocks(original).contains(place)), "no block is shared");
    }
    drop(directories);
    assert!(!overlays[0].replacement.exists());
}
