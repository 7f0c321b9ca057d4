//! The programs of this system: our answer against the real loader's own list and its own account of failed probes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_loader::{FileSystem, Hwcaps, LoaderBuild, Probe, Rules, hwcaps, resolve};
use common::{
    Files, assert_same, environment, our_failed, our_listing, parse_failed, parse_listing, real_loader, skip,
};

/// Programs of the usual directories that start with this interpreter.
fn programs(files: &Files, interpreter: &str) -> Vec<PathBuf> {
    let mut programs = Vec::new();
    for folder in ["/usr/bin", "/usr/sbin"] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if let Probe::Object { facts, .. } = files.object(&path)
                && facts.interpreter.as_deref() == Some(interpreter.as_bytes())
            {
                programs.push(path);
            }
        }
    }
    programs.sort();
    programs
}

/// Whether a program has more rights than the test (`AT_SECURE`).
fn gains_rights(program: &Path) -> bool {
    let (file, own) = (program.metadata().unwrap(), Path::new("/proc/self").metadata().unwrap());
    let (user, group) = (file.mode() & 0o4000 != 0, file.mode() & 0o2000 != 0);
    (user && file.uid() != own.uid()) || (group && file.gid() != own.gid())
}

#[test]
fn reads_what_was_compiled_into_the_loader() {
    let Some((loader, release)) = real_loader() else { return skip("no glibc for x86-64 here") };
    let build = LoaderBuild::read(&std::fs::read(&loader).unwrap());
    assert_eq!((build.rules, build.release), (Rules::Glibc, Some(release)));
    let output = Command::new(&loader).arg("--list-diagnostics").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = |line: &str| line.split_once('=').map(|(_, value)| value.trim_matches('"').as_bytes().to_vec());
    let all = |start: &str| told.lines().filter(|line| line.starts_with(start)).filter_map(value).collect::<Vec<_>>();
    assert_eq!(build.system_directories.clone().unwrap(), all("path.system_dirs["));
    assert_eq!(build.lib(), all("dl_dst_lib=").pop());
    assert_eq!(build.cache_path.as_deref(), Some(b"/etc/ld.so.cache".as_slice()));
    // What it says of the processor is what we find.
    let hwcaps = Hwcaps::of_this_cpu(release);
    let active = all("dl_hwcaps_subdirs_active=").pop().unwrap();
    let active = u32::from_str_radix(std::str::from_utf8(&active).unwrap().trim_start_matches("0x"), 16).unwrap();
    assert_eq!(hwcaps.levels.len() as u32, active.count_ones());
    assert_eq!(hwcaps::platform_of_this_cpu().map(|name| name.as_bytes().to_vec()), all("dl_platform=").pop());
}

#[test]
fn knows_musl_by_its_strings() {
    let Ok(loader) = std::fs::read("/lib/ld-musl-x86_64.so.1") else { return skip("no musl here") };
    assert_eq!(LoaderBuild::read(&loader), LoaderBuild { rules: Rules::Musl, ..LoaderBuild::default() });
}

#[test]
fn lists_what_the_loader_lists() {
    let Some((loader, release)) = real_loader() else { return skip("no glibc for x86-64 here") };
    let files = Files::default();
    let environment = environment(release);
    let programs = programs(&files, &loader);
    assert!(programs.len() >= 150, "only {} programs", programs.len());
    for program in &programs {
        let mut command = Command::new(if gains_rights(program) { Path::new(&loader) } else { program });
        if gains_rights(program) {
            // A secure program does not hear of the variable and would run.
            command.arg("--list").arg(program);
        }
        // Not `ld.so --list` for all: up to glibc 2.36 that does not follow symbolic links for the program's `$ORIGIN`.
        let output = command.env_clear().env("LD_TRACE_LOADED_OBJECTS", "1").output().unwrap();
        let closure = resolve(program, &files, &environment).unwrap();
        assert_eq!(closure.stopped, None, "{}", program.display());
        assert_eq!(our_listing(&closure), parse_listing(&output), "{}", program.display());
    }
    eprintln!("{} programs", programs.len());
}

#[test]
fn fails_where_the_loader_fails() {
    let Some((loader, release)) = real_loader() else { return skip("no glibc for x86-64 here") };
    let files = Files::seen_from(Path::new("/"));
    // The cache answers nearly everything; a list of directories makes the loader search, and remember.
    let lists: [Option<&str>; 3] =
        [None, Some("/usr/share:/nowhere/at/all:/usr/lib/x86_64-linux-gnu"), Some("etc;;/lib/")];
    let mut failures = 0;
    for (number, program) in programs(&files, &loader).iter().enumerate() {
        let list = lists[number % lists.len()];
        // Secure programs do not hear of LD_DEBUG.
        if gains_rights(program) {
            continue;
        }
        let mut command = Command::new(program);
        command.env_clear().env("LD_TRACE_LOADED_OBJECTS", "1").env("LD_DEBUG", "libs").current_dir("/");
        let mut environment = environment(release);
        environment.current_directory = "/".into();
        if let Some(list) = list {
            command.env("LD_LIBRARY_PATH", list);
            environment.ld_library_path = Some(list.as_bytes().to_vec());
        }
        let output = command.output().unwrap();
        let listing = parse_listing(&output);
        let closure = resolve(program, &files, &environment).unwrap();
        assert_eq!(our_listing(&closure), listing, "{} with {list:?}", program.display());
        let theirs = parse_failed(&String::from_utf8_lossy(&output.stderr), &files);
        failures += theirs.len();
        assert_same(&our_failed(&closure), &theirs, &format!("{} with {list:?}", program.display()));
    }
    assert!(failures > 100, "only {failures} failed probes");
    eprintln!("{failures} failed probes");
}
