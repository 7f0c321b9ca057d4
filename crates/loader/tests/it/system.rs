//! The programs of this system: our answer against the real loader's own list and its own account of failed probes.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_loader::{Environment, Hwcaps, LoaderBuild, Rules, Start, hwcaps};
use coldstart_testing::skip;

use crate::common::{Files, environment, read_facts, real_loader};
use crate::starts::{compare, for_every_seed};

/// Where programs and libraries are looked for.
const PLACES: [&str; 6] = ["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/usr/local", "/opt"];

/// All ELF objects of this machine's kind in the usual places, those with an interpreter and those without, sorted.
fn objects() -> (Vec<PathBuf>, Vec<PathBuf>) {
    let rust = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let mut folders: Vec<PathBuf> = PLACES.iter().map(PathBuf::from).chain(rust).collect();
    let (mut programs, mut libraries, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.map(|entry| entry.unwrap()) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                folders.push(path);
            } else if let Some((has_interpreter, _)) = look_at(&path).filter(|(_, identity)| seen.insert(*identity)) {
                if has_interpreter { programs.push(path) } else { libraries.push(path) }
            }
        }
    }
    programs.sort();
    libraries.sort();
    (programs, libraries)
}

/// Whether an object of our kind that has something to load names an interpreter, and which file it is.
fn look_at(path: &Path) -> Option<(bool, (u64, u64))> {
    let mut file = File::open(path).ok()?;
    let metadata = file.metadata().ok().filter(|metadata| metadata.is_file())?;
    let mut header = [0; 64];
    file.read_exact(&mut header).ok()?;
    let ours = header.starts_with(b"\x7fELF\x02\x01\x01") && header[18..20] == [62, 0] && matches!(header[16], 2 | 3);
    let facts = ours.then(|| read_facts(path, 2))?;
    let loads = !facts.needed.is_empty() || facts.soname.is_some();
    let is_other = facts.interpreter.as_deref().is_some_and(|name| name != b"/lib64/ld-linux-x86-64.so.2");
    (loads && !is_other).then_some((facts.interpreter.is_some(), (metadata.dev(), metadata.ino())))
}

/// Whether a program has more rights than the test (`AT_SECURE`): it would not hear of our variables, and run.
fn gains_rights(program: &Path) -> bool {
    let (file, own) = (program.metadata().unwrap(), Path::new(coldstart_host::process::SELF).metadata().unwrap());
    let (user, group) = (file.mode() & 0o4000 != 0, file.mode() & 0o2000 != 0);
    (user && file.uid() != own.uid()) || (group && file.gid() != own.gid())
}

fn traced(mut command: Command) -> Command {
    command.env_clear().env("LD_TRACE_LOADED_OBJECTS", "1").env("LD_DEBUG", "libs,files").current_dir("/");
    command
}

/// The object started by the loader under another set of processor levels.
fn by_loader(loader: &str, mask: &str, object: &Path, environment: &Environment) -> (Command, Environment) {
    let mut command = Command::new(loader);
    command.args(["--glibc-hwcaps-mask", mask]).arg(object);
    let hwcaps = environment.hwcaps.masked(mask.as_bytes());
    let processor_levels = Some(environment.hwcaps.levels.clone());
    let interpreter = Some(loader.into());
    (
        traced(command),
        Environment { start: Start::Loader, interpreter, hwcaps, processor_levels, ..environment.clone() },
    )
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
    let path_file = Some(b"/etc/ld-musl-x86_64.path".to_vec());
    let build = LoaderBuild { rules: Rules::Musl, musl_path_file: path_file, ..LoaderBuild::default() };
    assert_eq!(LoaderBuild::read(&loader), build);
}

#[test]
fn programs_load_what_we_find() {
    let Some((loader, release)) = real_loader() else { return skip("no glibc for x86-64 here") };
    let programs = objects().0;
    assert!(programs.len() >= 150, "only {} programs", programs.len());
    let plain = Environment { current_directory: "/".into(), ..environment(release) };
    // The cache answers nearly everything; a list of directories makes the loader search, and remember.
    let lists: [Option<&str>; 3] =
        [None, Some("/usr/share:/nowhere/at/all:/usr/lib/x86_64-linux-gnu"), Some("etc;;/lib/")];
    let counts = for_every_seed(programs.len() as u64, |number, counts| {
        let program = &programs[number as usize];
        let files = Files::seen_from(Path::new("/"));
        let list = lists[number as usize % lists.len()];
        let mut starts = vec![by_loader(&loader, "x86-64-v2", program, &plain)];
        // Some libraries name an interpreter and are no programs.
        let is_executable = program.metadata().unwrap().mode() & 0o111 != 0;
        if is_executable && !gains_rights(program) {
            let mut command = traced(Command::new(program));
            command.envs(list.map(|list| ("LD_LIBRARY_PATH", list)));
            starts.push((command, Environment { ld_library_path: list.map(|list| list.into()), ..plain.clone() }));
        }
        let differences = starts.into_iter().filter_map(|(command, environment)| {
            *counts.entry("starts".to_owned()).or_default() += 1;
            let difference = compare(command, program, &environment, &files, counts)?;
            Some(format!("{} with {list:?}: {difference}", program.display()))
        });
        differences.collect()
    });
    eprintln!("{} programs", programs.len());
    assert!(counts["entity not found"] > 1000, "too few failed probes");
}

#[test]
fn libraries_load_what_we_find() {
    let Some((loader, release)) = real_loader() else { return skip("no glibc for x86-64 here") };
    let own = Path::new(&loader).canonicalize().unwrap();
    let libraries: Vec<PathBuf> = objects().1.into_iter().filter(|path| *path != own).collect();
    assert!(libraries.len() >= 50, "only {} libraries", libraries.len());
    let plain = Environment { current_directory: "/".into(), ..environment(release) };
    for_every_seed(libraries.len() as u64, |number, counts| {
        let library = &libraries[number as usize];
        let (command, environment) = by_loader(&loader, "x86-64-v3:x86-64-v2", library, &plain);
        let difference = compare(command, library, &environment, &Files::seen_from(Path::new("/")), counts);
        difference.map(|difference| format!("{}: {difference}", library.display())).into_iter().collect()
    });
    eprintln!("{} libraries", libraries.len());
}
