//! Generated folders of libraries: our answer against the real loaders' own.
//!
//! Each tree comes from a seed, which a failure names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/tree.rs"]
mod tree;

use std::process::{Command, Output};

use coldstart_loader::{Closure, Environment, FoundBy, Known, ProbeFailure, Rules, resolve};
use common::{
    Files, assert_same, environment, is_there, our_failed, our_listing, parse_failed, parse_listing, real_loader, run,
    skip,
};
use tree::{Flavour, Random, Tree, Workshop};

const TREES: u64 = 80;

fn start(tree: &Tree, command: &mut Command) -> Output {
    command.current_dir(&tree.root).env_clear();
    if let Some(list) = &tree.ld_library_path {
        command.env("LD_LIBRARY_PATH", list);
    }
    if let Some(list) = &tree.ld_preload {
        command.env("LD_PRELOAD", list);
    }
    command.env("LD_TRACE_LOADED_OBJECTS", "1").env("LD_DEBUG", "libs").output().unwrap()
}

fn around(tree: &Tree, environment: Environment) -> Environment {
    Environment {
        ld_library_path: tree.ld_library_path.clone().map(String::into_bytes),
        ld_preload: tree.ld_preload.clone().map(String::into_bytes),
        current_directory: tree.root.clone(),
        ..environment
    }
}

/// How often each way of finding a library came up, so that the trees cannot quietly become harmless.
fn count(closure: &Closure, counts: &mut std::collections::BTreeMap<String, usize>) {
    let rules = closure.requests.iter().filter_map(|request| request.found_by);
    let decoys = closure.failed_probes.iter().filter(|probe| !matches!(probe.failure, ProbeFailure::Absent(_)));
    let names = rules.map(|rule| rule.to_string()).chain(decoys.map(|decoy| decoy.failure.to_string()));
    let ends = closure.stopped.iter().map(|_| "stopped".to_owned());
    names.chain(ends).chain(closure.missing.iter().map(|_| "missing".to_owned())).for_each(|name| {
        *counts.entry(name).or_default() += 1;
    });
}

#[test]
fn glibc_finds_what_we_find() {
    let Some((loader, release)) = real_loader() else { return skip("no glibc for x86-64 here") };
    if !is_there("cc") || !is_there("ld") {
        return skip("no compiler");
    }
    let scratch = tempfile::tempdir().unwrap();
    // The path that the loader will print is the one without links.
    let scratch = scratch.path().canonicalize().unwrap();
    let mut workshop = Workshop::new(&scratch);
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..TREES {
        let root = scratch.join(seed.to_string());
        let tree = Tree::generate(&mut workshop, &root, &loader, Flavour::Glibc, &mut Random::new(seed));
        let output = start(&tree, &mut Command::new(&tree.program));
        let environment = around(&tree, environment(release));
        let files = Files::seen_from(&root);
        let closure = resolve(&tree.program, &files, &environment).unwrap();
        count(&closure, &mut counts);
        let errors = String::from_utf8_lossy(&output.stderr);
        let seed = format!("seed {seed}, {:?}, {:?}\n{errors}", tree.ld_library_path, tree.ld_preload);
        if let Some(stopped) = &closure.stopped {
            assert!(!output.status.success(), "we stop at {stopped:?}: {seed}");
            let reason = match &stopped.reason {
                ProbeFailure::OtherByteOrder => "ELF file data encoding not little-endian".to_owned(),
                reason => reason.to_string(),
            };
            let expected = format!("{}: {reason}", stopped.path.display());
            assert!(errors.contains(&expected), "we stop with {expected}: {seed}");
            continue;
        }
        if errors.contains("DT_RELR without") {
            // All is found, but of a libc that is not there the versions are asked in vain, before the list is printed.
            assert!(closure.missing.iter().any(|missing| missing.needed == b"libc.so.6"), "{seed}");
        } else {
            assert!(!errors.contains("error while loading shared libraries"), "we do not stop: {seed}");
            assert_eq!(our_listing(&closure), parse_listing(&output), "{seed}");
        }
        assert_same(&our_failed(&closure), &parse_failed(&errors, &files), &seed);
    }
    eprintln!("{counts:#?}");
    for rule in ["RPATH", "RUNPATH", "LD_LIBRARY_PATH", "ld.so.cache", "path with a slash", "missing", "stopped"] {
        assert!(counts.contains_key(rule), "no tree has: {rule}");
    }
}

#[test]
fn musl_finds_what_we_find() {
    let loader = "/lib/ld-musl-x86_64.so.1";
    if !std::path::Path::new(loader).exists() || !is_there("cc") || !is_there("ld") {
        return skip("no musl or no compiler here");
    }
    let scratch = tempfile::tempdir().unwrap();
    let scratch = scratch.path().canonicalize().unwrap();
    let mut workshop = Workshop::new(&scratch);
    for seed in 0..TREES {
        let root = scratch.join(seed.to_string());
        let tree = Tree::generate(&mut workshop, &root, loader, Flavour::Musl, &mut Random::new(seed));
        let output = start(&tree, Command::new(loader).arg("--list").arg(&tree.program));
        let files = Files::seen_from(&root);
        let musl_path_file = std::fs::read("/etc/ld-musl-x86_64.path").ok();
        let environment = around(&tree, Environment { rules: Rules::Musl, musl_path_file, ..Environment::default() });
        let closure = resolve(&tree.program, &files, &environment).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let seed = format!("seed {seed}, {:?}, {:?}\n{errors}", tree.ld_library_path, tree.ld_preload);
        let mut listing = parse_listing(&output);
        // The loader lists itself first, and once for each of its names; we have it once, where it is first needed.
        listing.loaded.retain(|(_, path)| path != loader);
        let mut ours = our_listing(&closure);
        ours.loaded.retain(|(_, path)| path != loader);
        assert_eq!(ours.loaded, listing.loaded, "{seed}");
        let missing = errors.lines().filter_map(|line| line.strip_prefix("Error loading shared library "));
        let missing: Vec<_> = missing.map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(ours.missing, missing, "{seed}");
    }
}

#[test]
fn one_name_each_way_of_being_known() {
    let Some((loader, release)) = real_loader() else { return skip("no glibc for x86-64 here") };
    if !is_there("cc") {
        return skip("no compiler");
    }
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    let build = |output: &str, arguments: &[&str]| {
        let plain = ["-nostdlib", "-Wl,--no-as-needed,--enable-new-dtags", "-Wl,-rpath,$ORIGIN", "-o", output];
        run(Command::new("cc").current_dir(&root).args(plain).args(arguments));
    };
    let shared =
        |soname: &str| ["-shared".to_owned(), format!("-Wl,-soname,{soname}"), "-xc".into(), "/dev/null".into()];
    let shared_as = |output: &str, soname: &str| {
        let arguments = shared(soname);
        build(output, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    };
    // Asked for as `asked.so`, called `called.so`, and a link to it.
    shared_as("asked.so", "called.so");
    std::os::unix::fs::symlink("asked.so", root.join("link.so")).unwrap();
    for stub in ["stub-asked.so", "stub-called.so", "stub-link.so"] {
        shared_as(stub, stub.strip_prefix("stub-").unwrap());
    }
    let start = format!("-Wl,-dynamic-linker,{loader}");
    build(
        "program",
        &["-pie", &start, "-Wl,-e,0", "-xc", "/dev/null", "-xnone", "stub-asked.so", "stub-called.so", "stub-link.so"],
    );
    let environment = Environment { current_directory: root.clone(), ..environment(release) };
    let closure = resolve(&root.join("program"), &Files::seen_from(&root), &environment).unwrap();
    let found: Vec<_> = closure.requests.iter().map(|request| (request.object, request.found_by.unwrap())).collect();
    let known = |known| (Some(1), FoundBy::AlreadyLoaded(known));
    assert_eq!(found, [(Some(1), FoundBy::Runpath { of: 0 }), known(Known::Soname), known(Known::SameFile)]);
    let explained = format!("needed by `{0}/program`, in {0} from the RUNPATH of `{0}/program`", root.display());
    assert_eq!(closure.explain(1), explained);
    // Nobody needs the interpreter: it is there all the same, and no symbols are looked up in it.
    let interpreter = closure.objects.last().unwrap();
    assert_eq!((interpreter.found_by, interpreter.in_scope), (FoundBy::Interpreter, false));
}
