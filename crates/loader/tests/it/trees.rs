//! Generated folders of libraries: our answer against the real loaders' own.
//!
//! Each tree comes from a seed, which a failure names.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_loader::{Call, Environment, FoundBy, Known, Rules, Start, calls, resolve};
use coldstart_testing::{Random, is_there, skip, succeed};

use crate::account::theirs;
use crate::common::{Files, environment, real_loader};
use crate::recipe::Recipe;
use crate::starts::{compare, count, for_every_seed, start};
use crate::tree::{Flavour, Target, Tree};

const GLIBC_TREES: u64 = 2400;
const MUSL_TREES: u64 = 500;
/// Trees whose system calls are compared.
const TRACED_TREES: u64 = 60;
/// Somebody whom the modes of files concern.
const NOBODY: u32 = 65534;

/// A start of a tree's program: the command, and the same in our words.
struct Variant {
    command: Command,
    environment: Environment,
}

/// The program started by the kernel.
fn by_kernel(tree: &Tree, environment: &Environment) -> Variant {
    Variant { command: Command::new(&tree.program), environment: environment.clone() }
}

/// The program started by the loader, with some of its options.
fn by_loader(tree: &Tree, target: &Target, loader: &str, environment: &Environment, random: &mut Random) -> Variant {
    let mut command = Command::new(loader);
    let mut environment = Environment { start: Start::Loader, interpreter: Some(loader.into()), ..environment.clone() };
    let mut option = |name: &str, value: &str| {
        command.args([name, value].iter().filter(|part| !part.is_empty()));
    };
    if random.percent(25) {
        let mask = random.pick(&["x86-64-v2", "x86-64-v3:x86-64-v2", "x86-64-v4", "none"]);
        option("--glibc-hwcaps-mask", mask);
        environment.processor_levels = Some(environment.hwcaps.levels.clone());
        environment.hwcaps = environment.hwcaps.masked(mask.as_bytes());
    }
    if random.percent(25) {
        let list = random.pick(&["mine", "power9:mine", "x86-64-v2", ":mine:", "mine:none:mine"]);
        option("--glibc-hwcaps-prepend", list);
        environment.hwcaps = environment.hwcaps.prepended(list.as_bytes());
    }
    if random.percent(25) {
        option("--inhibit-cache", "");
        environment.cache = None;
    }
    if random.percent(25) {
        let list = tree.another_list(target, random);
        if !list.is_empty() {
            option("--library-path", &list);
            environment.ld_library_path = Some(list.into_bytes());
        }
    }
    if random.percent(20) {
        let names = tree.another_preload(target, random);
        if !names.is_empty() {
            option("--preload", &names);
            environment.preload_argument = Some(names.into_bytes());
        }
    }
    if random.percent(15) {
        let list = format!("{0}/d0/liba.so:{0}/d1/libb.so:{0}/d2/libd.so", tree.root.display());
        let list = random.pick(&[list.as_str(), ":", "/nowhere:/nowhere/else"]).to_owned();
        option("--inhibit-rpath", &list);
        environment.inhibit_rpath = Some(list.into_bytes());
    }
    // Without `--list`, with which a missing library would end it: the variable lets it go on.
    command.arg(&tree.program);
    Variant { command, environment }
}

fn surround(tree: &Tree, command: &mut Command, as_stranger: bool) {
    command.current_dir(&tree.root).env_clear().env("LD_TRACE_LOADED_OBJECTS", "1").env("LD_DEBUG", "libs,files");
    command.envs(tree.ld_library_path.iter().map(|list| ("LD_LIBRARY_PATH", list)));
    command.envs(tree.ld_preload.iter().map(|list| ("LD_PRELOAD", list)));
    if as_stranger {
        command.uid(NOBODY).gid(NOBODY);
    }
}

fn around(tree: &Tree, environment: &Environment) -> Environment {
    Environment {
        ld_library_path: tree.ld_library_path.clone().map(String::into_bytes),
        ld_preload: tree.ld_preload.clone().map(String::into_bytes),
        current_directory: tree.root.clone(),
        ..environment.clone()
    }
}

/// A scratch folder whose path has no links, as the loader prints it, open to everybody.
fn scratch() -> (tempfile::TempDir, PathBuf) {
    let mut scratch = tempfile::tempdir().unwrap();
    scratch.disable_cleanup(std::env::var_os("COLDSTART_KEEP_TREES").is_some());
    std::fs::set_permissions(scratch.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = scratch.path().canonicalize().unwrap();
    (scratch, path)
}

#[test]
fn glibc_finds_what_we_find() {
    let Some((loader, release)) = real_loader() else { return skip("no glibc for x86-64 here") };
    let (_scratch, root) = scratch();
    let target = Target { flavour: Flavour::Glibc, base: Recipe::default(), interpreter: loader.clone() };
    let is_root = Path::new(coldstart_host::process::SELF).metadata().unwrap().uid() == 0;
    let same_loader = Path::new(&loader).canonicalize().unwrap().to_str().unwrap().to_owned();
    let environment = environment(release);
    let seeds = std::env::var("COLDSTART_TREES")
        .ok()
        .and_then(|seeds| seeds.parse().ok())
        .unwrap_or(GLIBC_TREES / coldstart_testing::divided_by(3) as u64);
    let counts = for_every_seed(seeds, |seed, counts| {
        let root = root.join(seed.to_string());
        let random = &mut Random::new(seed);
        let tree = Tree::generate(&target, &root, random);
        // Root may read what nobody may.
        let as_stranger = is_root && random.percent(20);
        let files = if as_stranger { Files::seen_by_stranger(&root) } else { Files::seen_from(&root) };
        let environment = around(&tree, &environment);
        let mut variants =
            vec![by_kernel(&tree, &environment), by_loader(&tree, &target, &loader, &environment, random)];
        if random.percent(30) {
            variants.push(by_loader(&tree, &target, &same_loader, &environment, random));
        }
        let differences = variants.into_iter().filter_map(|variant| {
            *counts.entry("starts".to_owned()).or_default() += 1;
            let Variant { mut command, environment } = variant;
            surround(&tree, &mut command, as_stranger);
            let difference = compare(command, &tree.program, &environment, &files, counts)?;
            let (list, preload) = (&tree.ld_library_path, &tree.ld_preload);
            Some(format!("seed {seed}, LD_LIBRARY_PATH {list:?}, LD_PRELOAD {preload:?}: {difference}"))
        });
        let differences = differences.collect();
        if std::env::var_os("COLDSTART_KEEP_TREES").is_none() {
            std::fs::remove_dir_all(&root).unwrap();
        }
        differences
    });
    for rule in
        ["RPATH", "RUNPATH", "LD_LIBRARY_PATH", "ld.so.cache", "default directory", "path with a slash", "missing"]
    {
        assert!(counts.contains_key(rule), "no tree has: {rule}");
    }
    let stopped = counts.keys().filter(|name| name.starts_with("stopped")).count();
    assert!(stopped >= 8, "only {stopped} ways to end");
}

/// The searching system calls of a start, with the same calls as we foresee them.
#[test]
fn glibc_calls_what_we_foresee() {
    let Some((loader, release)) = real_loader() else { return skip("no glibc for x86-64 here") };
    if !is_there("strace") {
        return skip("no strace");
    }
    let (_scratch, root) = scratch();
    let target = Target { flavour: Flavour::Glibc, base: Recipe::default(), interpreter: loader };
    let environment = environment(release);
    let counts = for_every_seed(TRACED_TREES, |seed, counts| {
        let root = root.join(seed.to_string());
        let tree = Tree::generate(&target, &root, &mut Random::new(seed + 1_000_000));
        let log = root.join("calls");
        let mut command = Command::new("strace");
        command
            .args(["-qq", "-s", "100000", "-e", "trace=open,openat,stat,newfstatat", "-e", "signal=none", "-o"])
            .arg(&log);
        command.args(["-E", "LD_TRACE_LOADED_OBJECTS=1"]);
        for (name, value) in [("LD_LIBRARY_PATH", &tree.ld_library_path), ("LD_PRELOAD", &tree.ld_preload)] {
            command.args(value.iter().flat_map(|value| ["-E".to_owned(), format!("{name}={value}")]));
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        start(command.arg(&tree.program).current_dir(&root).env_clear().env("PATH", path));
        let log = String::from_utf8(std::fs::read(&log).unwrap()).unwrap();
        let theirs: Vec<String> = log.lines().filter_map(call).collect();
        let closure = resolve(&tree.program, &Files::seen_from(&root), &around(&tree, &environment)).unwrap();
        let ours: Vec<String> = calls(&closure)
            .iter()
            .map(|call| match call {
                Call::Open { path, .. } => format!("open {}", path.display()),
                Call::Stat { path, exists } => format!("stat {} {exists}", path.display()),
            })
            .collect();
        *counts.entry("calls".to_owned()).or_default() += ours.len();
        let place = (0..ours.len().max(theirs.len())).find(|&place| ours.get(place) != theirs.get(place));
        let difference = place.map(|place| {
            let show = |list: &[String]| {
                format!("{:#?}", &list[place.saturating_sub(2).min(list.len())..list.len().min(place + 3)])
            };
            format!(
                "seed {seed}, {:?}, {:?}: call {place}: ours {}, theirs {}",
                tree.ld_library_path,
                tree.ld_preload,
                show(&ours),
                show(&theirs)
            )
        });
        difference.into_iter().collect()
    });
    assert!(counts["calls"] > 5000, "only {} calls", counts["calls"]);
}

/// A call of the search from a line of strace.
fn call(line: &str) -> Option<String> {
    let (name, rest) = line.split_once('(')?;
    let (_, rest) = rest.split_once('"')?;
    let (path, rest) = rest.split_once('"')?;
    if ["/etc/ld.so.cache", "/etc/ld.so.preload"].contains(&path) || rest.contains("AT_EMPTY_PATH") {
        return None;
    }
    let exists = rest.contains("S_IFDIR");
    Some(if name.starts_with("open") { format!("open {path}") } else { format!("stat {path} {exists}") })
}

#[test]
fn musl_finds_what_we_find() {
    let loader = "/lib/ld-musl-x86_64.so.1";
    if !Path::new(loader).exists() {
        return skip("no musl here");
    }
    let (_scratch, root) = scratch();
    let target = Target { flavour: Flavour::Musl, base: Recipe::default(), interpreter: loader.to_owned() };
    let musl_path_file = std::fs::read("/etc/ld-musl-x86_64.path").ok();
    let environment = Environment { rules: Rules::Musl, musl_path_file, ..Environment::default() };
    for_every_seed(MUSL_TREES, |seed, counts| {
        let root = root.join(seed.to_string());
        let tree = Tree::generate(&target, &root, &mut Random::new(seed));
        let mut command = Command::new(loader);
        surround(&tree, command.arg("--list").arg(&tree.program), false);
        let output = command.output().unwrap();
        let files = Files::seen_from(&root);
        let closure = resolve(&tree.program, &files, &around(&tree, &environment)).unwrap();
        count(&closure, counts);
        let errors = String::from_utf8_lossy(&output.stderr);
        let mut theirs: Vec<String> = theirs(&output).listing;
        // The loader lists itself first, and once for each of its names; we have it once, where it is first needed.
        theirs.retain(|line| !line.ends_with(loader));
        let objects = closure.objects.iter().skip(1).filter(|object| object.found_by != FoundBy::Interpreter);
        let ours = objects.map(|object| {
            (String::from_utf8_lossy(&object.name_asked).into_owned(), object.path.display().to_string())
        });
        let mut ours: Vec<String> = ours.map(|(name, path)| format!("{name} => {path}")).collect();
        let missing = errors.lines().filter_map(|line| line.strip_prefix("Error loading shared library "));
        theirs.extend(missing.map(|line| format!("missing {}", line.split(':').next().unwrap())));
        // It says nothing of what cannot be preloaded.
        let needed = closure.missing.iter().filter(|missing| !missing.preload);
        ours.extend(needed.map(|missing| format!("missing {}", String::from_utf8_lossy(&missing.name_asked))));
        let context = format!("{:?}, {:?}\n{errors}", tree.ld_library_path, tree.ld_preload);
        (ours != theirs)
            .then(|| format!("seed {seed}: ours {ours:#?}, theirs {theirs:#?}: {context}"))
            .into_iter()
            .collect()
    });
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
        succeed(Command::new("cc").current_dir(&root).args(plain).args(arguments));
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
