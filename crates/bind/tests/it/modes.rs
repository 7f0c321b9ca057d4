//! Modes `absolute`, `origin` and `audit`, refusals, staleness, and programs that really run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_bind::{
    BindPlan, Caution, Change, MachineFiles, Mode, Options, Program, Refusal, SearchedDirectory, plan, write_farm,
};
use coldstart_testing::succeed;

use crate::common::{GLIBC, MUSL, Search, Workshop, account, changes, planned, ready};

fn mode(mode: Mode) -> Options {
    Options { mode, ..Options::default() }
}

/// A program whose library is asked for by a name that is not its own.
fn renamed(shop: &mut Workshop) -> PathBuf {
    let path = "$ORIGIN/../x:$ORIGIN/../a";
    shop.library("a/liba.so", &["libb.so", "libasked.so"], Search::Runpath(path));
    shop.library("a/libb.so", &["libasked.so", "libc.so.6"], Search::Runpath(path));
    shop.library("a/libcalled.so", &[], Search::None);
    fs::rename(shop.at("a/libcalled.so"), shop.at("a/libasked.so")).unwrap();
    shop.program("bin/app", GLIBC, &["liba.so", "libc.so.6"], Search::Runpath(path))
}

#[test]
fn paths_in_load_order_and_names_behind() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let program = renamed(&mut shop);
    let root = shop.root.display().to_string();
    for (mode_of, start) in [(Mode::Absolute, format!("{root}/bin")), (Mode::Origin, "$ORIGIN".to_owned())] {
        let program = if mode_of == Mode::Origin { renamed(&mut shop) } else { program.clone() };
        let before = account(&program, GLIBC, &[]);
        let plan = planned(&program, &mode(mode_of)).unwrap();
        let needed: Vec<&str> = plan.binding.needed.iter().map(String::as_str).collect();
        assert_eq!(needed[0], format!("{start}/../a/liba.so"));
        assert_eq!(needed[1], before.paths[1].to_str().unwrap());
        assert_eq!(needed[2], format!("{start}/../a/../a/libb.so"));
        assert_eq!(needed[3], format!("{start}/../a/../a/libasked.so"));
        assert_eq!(needed[4..], ["ld-linux-x86-64.so.2", "liba.so", "libc.so.6"]);
        assert!(plan.farm.is_none() && plan.binding.path == plan.binding.original_path);
        let soname = Some("libcalled.so".to_owned());
        let residual = Caution::NameIsNotSoname { library: "libasked.so".to_owned(), soname };
        assert!(plan.cautions.contains(&residual), "{:?}", plan.cautions);
        shop.apply(&program, GLIBC, &plan.edit);
        let after = account(&program, GLIBC, &[]);
        assert_eq!(after.files, before.files);
        assert_eq!(after.failed.len(), plan.predicted.failed_probes_after);
        assert_eq!(changes(&plan.binding, &program), []);
    }
}

#[test]
fn below_a_root_counts_as_the_program_s_tree() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let path = shop.at("a").display().to_string();
    shop.library("a/liba.so", &[], Search::None);
    let program = shop.program("bin/app", GLIBC, &["liba.so"], Search::Runpath(&path));
    let plan = planned(&program, &mode(Mode::Origin)).unwrap();
    assert_eq!(plan.binding.needed, [format!("{path}/liba.so"), "liba.so".to_owned()]);
    let options = Options { root: Some(shop.root.clone()), ..mode(Mode::Origin) };
    let plan = planned(&program, &options).unwrap();
    assert_eq!(plan.binding.needed, ["$ORIGIN/../a/liba.so", "liba.so"]);
}

#[test]
fn a_path_can_name_one_variant_only() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    shop.library("a/liba.so", &[], Search::None);
    shop.library("a/glibc-hwcaps/x86-64-v2/liba.so", &[], Search::None);
    let program = shop.program("bin/app", GLIBC, &["liba.so"], Search::Runpath("$ORIGIN/../a"));
    let refusal = planned(&program, &mode(Mode::Absolute)).unwrap_err();
    assert_eq!(refusal, Refusal::LevelVariants { library: "liba.so".to_owned() });
    let levels = Some(vec!["x86-64-v2".to_owned()]);
    let plan = planned(&program, &Options { levels, ..mode(Mode::Absolute) }).unwrap();
    assert!(plan.binding.needed[0].ends_with("/glibc-hwcaps/x86-64-v2/liba.so"));
}

#[test]
fn audit_keeps_all_and_tells_who_searches_where() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let program = renamed(&mut shop);
    assert_eq!(planned(&program, &mode(Mode::Audit)).unwrap_err(), Refusal::NoAuditLibrary);
    let options = Options { audit_library: Some("/opt/audit.so".into()), ..mode(Mode::Audit) };
    let plan = planned(&program, &options).unwrap();
    assert_eq!(plan.edit.needed, [b"liba.so".to_vec(), b"libc.so.6".to_vec()]);
    assert_eq!(plan.edit.audit.as_deref(), Some(b"/opt/audit.so".as_slice()));
    let asks = &plan.requesters[1];
    assert!(asks.path.ends_with("bin/../a/liba.so"));
    let first = shop.at("bin/../a/../x").display().to_string();
    assert_eq!(asks.directories[0], SearchedDirectory::Runpath(first));
    assert!(matches!(asks.directories.last(), Some(SearchedDirectory::Default(_))));
    assert!(plan.requesters[0].is_program && !asks.is_program);
    let search = asks.search();
    let own: Vec<_> =
        ["x", "a"].map(|name| shop.at(&format!("bin/../a/../{name}")).display().to_string().into_bytes()).into();
    assert_eq!((search.before_library_path, search.after_library_path), (Vec::new(), own));
}

#[test]
fn refusals_say_what_stands_in_the_way() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let code = |program: &Path, options: &Options| planned(program, options).unwrap_err().code();
    let plain = Options::default();
    let missing = shop.program("bin/missing", GLIBC, &["libgone.so"], Search::None);
    assert_eq!(code(&missing, &plain), "missing-library");
    let library = shop.library("a/liba.so", &[], Search::None);
    assert_eq!(code(&library, &plain), "library");
    let fixed = shop.at("bin/static");
    shop.link(&fixed, &["-static"], &[], Search::None);
    assert_eq!(code(&fixed, &plain), "static");
    let pie = shop.at("bin/static-pie");
    shop.link(&pie, &["-pie", "--no-dynamic-linker"], &[], Search::None);
    assert_eq!(code(&pie, &plain), "static");
    let alone = shop.program("bin/alone", GLIBC, &[], Search::None);
    assert_eq!(code(&alone, &plain), "nothing-to-bind");
    symlink(GLIBC, shop.at("linker64")).unwrap();
    let linker = shop.at("linker64").display().to_string();
    let other = shop.program("bin/other", &linker, &["libc.so.6"], Search::None);
    assert_eq!(code(&other, &plain), "interpreter");
    fs::write(shop.at("text"), "no program").unwrap();
    assert_eq!(code(&shop.at("text"), &plain), "unreadable");
    assert_eq!(code(&shop.at("nowhere"), &plain), "no-program");
    let program = shop.program("bin/app", GLIBC, &["liba.so"], Search::Runpath("$ORIGIN/../a"));
    for sign in [":", "$"] {
        let farm = Some(shop.at(&format!("odd{sign}farm")));
        assert_eq!(code(&program, &Options { farm, ..Options::default() }), "path-text");
    }
    assert_eq!(code(&program, &Options { farm: Some("farm".into()), ..Options::default() }), "not-absolute");
    fs::write(shop.at("a/libbad.so"), "this is not an object; it is a text that is longer than a header").unwrap();
    let stops = shop.program("bin/stops", GLIBC, &["libbad.so"], Search::Runpath("$ORIGIN/../a"));
    assert_eq!(code(&stops, &plain), "would-stop");
    let cwd = shop.program("bin/cwd", GLIBC, &["libcwd.so"], Search::Runpath("a"));
    assert!(["missing-library", "relative-path"].contains(&code(&cwd, &plain)));
    if Path::new(MUSL).exists() {
        let musl = shop.program("bin/musl", MUSL, &["liba.so"], Search::Runpath("$ORIGIN/../a"));
        for mode_of in [Mode::Absolute, Mode::Origin, Mode::Audit] {
            assert_eq!(code(&musl, &mode(mode_of)), "musl");
        }
    }
}

#[test]
fn programs_with_rights_need_a_safe_place() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let path = shop.at("a").display().to_string();
    shop.library("a/liba.so", &["libc.so.6"], Search::None);
    let program = shop.program("bin/app", GLIBC, &["liba.so"], Search::Runpath(&path));
    let secure = |options: &Options| {
        let subject = Program { path: program.clone(), secure: true, ..Program::default() };
        plan(&subject, &MachineFiles::new(), &crate::common::environment(&program), options)
    };
    assert_eq!(secure(&Options::default()).unwrap_err(), Refusal::Secure);
    let allowed = Options { allow_secure: true, ..Options::default() };
    // The scratch folder stands in one that all may write to.
    assert_eq!(secure(&allowed).unwrap_err().code(), "farm-not-safe");
    let safe = Options { farm: Some("/usr/lib/coldstart-test-farm".into()), ..allowed.clone() };
    match secure(&safe) {
        Ok(plan) => assert!(plan.binding.path.unwrap().text.starts_with("/usr/lib/coldstart-test-farm:")),
        Err(refusal) => assert_eq!(refusal.code(), "farm-not-safe"),
    }
    assert_eq!(secure(&Options { mode: Mode::Origin, ..allowed }).unwrap_err().code(), "secure-mode");
}

fn bound(shop: &mut Workshop, program: &Path) -> BindPlan {
    let plan = planned(program, &Options::default()).unwrap();
    let farm = plan.farm.as_ref().unwrap();
    write_farm(farm, &farm.directory).unwrap();
    shop.apply(program, GLIBC, &plan.edit);
    plan
}

#[test]
fn a_bound_program_is_bound_anew_only_when_asked() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let program = renamed(&mut shop);
    let first = bound(&mut shop, &program);
    let binding = Some(first.binding.clone());
    let subject = Program { path: program.clone(), binding, ..Program::default() };
    let environment = crate::common::environment(&program);
    let refusal = plan(&subject, &MachineFiles::new(), &environment, &Options::default()).unwrap_err();
    assert_eq!(refusal.code(), "already-bound");
    let options = Options { rebind: true, ..Options::default() };
    assert_eq!(plan(&subject, &MachineFiles::new(), &environment, &options).unwrap(), first);
}

#[test]
fn status_tells_each_change() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let program = renamed(&mut shop);
    let plan = bound(&mut shop, &program);
    let farm = plan.farm.as_ref().unwrap().directory.clone();
    let library = shop.at("a/libb.so");
    let is = |expected: &dyn Fn(&Change) -> bool| {
        let changes = changes(&plan.binding, &program);
        assert!(changes.iter().any(expected), "{changes:?}");
    };
    // Touched, and written anew with the same content: no change.
    let bytes = fs::read(&library).unwrap();
    fs::remove_file(&library).unwrap();
    fs::write(&library, &bytes).unwrap();
    assert_eq!(changes(&plan.binding, &program), []);
    // Another library in its place.
    shop.library("a/libb.so", &["libasked.so", "libc.so.6"], Search::Runpath("$ORIGIN/../x:$ORIGIN/../a:/other"));
    is(&|change| matches!(change, Change::Replaced { library, .. } if library == "libb.so"));
    fs::write(&library, &bytes).unwrap();
    // Another one earlier on the path.
    shop.library("x/libb.so", &["libasked.so", "libc.so.6"], Search::None);
    is(&|change| {
        matches!(change, Change::FoundElsewhere { library, now, .. }
        if library == "libb.so" && now.ends_with("x/libb.so"))
    });
    fs::remove_dir_all(shop.at("x")).unwrap();
    // A variant for a level.
    shop.library("a/glibc-hwcaps/x86-64-v2/libb.so", &["libasked.so", "libc.so.6"], Search::Runpath("$ORIGIN/../.."));
    is(&|change| {
        matches!(change, Change::FoundElsewhere { library, level, .. }
        if library == "libb.so" && level.as_deref() == Some("x86-64-v2"))
    });
    fs::remove_dir_all(shop.at("a/glibc-hwcaps")).unwrap();
    // Gone.
    fs::rename(&library, shop.at("aside")).unwrap();
    is(&|change| matches!(change, Change::Gone { library, .. } if library == "libb.so"));
    is(&|change| matches!(change, Change::CannotBeBound { .. }));
    fs::rename(shop.at("aside"), &library).unwrap();
    // Links.
    fs::remove_file(farm.join("libb.so")).unwrap();
    is(&|change| matches!(change, Change::LinkGone { .. }));
    symlink("/elsewhere", farm.join("libb.so")).unwrap();
    is(
        &|change| matches!(change, Change::LinkLeadsElsewhere { target: Some(target), .. } if target == Path::new("/elsewhere")),
    );
    fs::remove_dir_all(&farm).unwrap();
    is(&|change| matches!(change, Change::FarmGone { .. }));
    shop.apply(&program, GLIBC, &plan.binding.original_edit());
    is(&|change| *change == Change::ProgramEdited);
}

#[test]
fn a_bound_program_runs_and_its_libraries_open_their_plugins() {
    if !ready(GLIBC) {
        return;
    }
    let shop = Workshop::new();
    let here = |arguments: &[&str]| succeed(Command::new("cc").current_dir(&shop.root).args(arguments));
    for folder in ["bin", "lib/plugins"] {
        fs::create_dir_all(shop.at(folder)).unwrap();
    }
    fs::write(shop.at("plugin.c"), "const char *plugin(void) { return \"plugin\"; }").unwrap();
    let host = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\nint host(void) { void *h = dlopen(\"libplugin.so\", RTLD_NOW);\
        if (!h) { puts(dlerror()); return 1; } const char *(*f)(void) = dlsym(h, \"plugin\"); puts(f()); return 0; }";
    fs::write(shop.at("host.c"), host).unwrap();
    fs::write(shop.at("mid.c"), "int host(void); int mid(void) { return host(); }").unwrap();
    fs::write(shop.at("app.c"), "int mid(void); int main(void) { return mid(); }").unwrap();
    here(&["-shared", "-fPIC", "-o", "lib/plugins/libplugin.so", "plugin.c"]);
    here(&[
        "-shared",
        "-fPIC",
        "-Wl,-soname,libhost.so",
        "-Wl,-rpath,$ORIGIN/plugins",
        "-o",
        "lib/libhost.so",
        "host.c",
    ]);
    here(&[
        "-shared",
        "-fPIC",
        "-Wl,-soname,libmid.so",
        "-Wl,-rpath,$ORIGIN",
        "-o",
        "lib/libmid.so",
        "mid.c",
        "lib/libhost.so",
    ]);
    here(&["-Wl,-rpath,$ORIGIN/../lib", "-Wl,-rpath-link,lib", "-o", "bin/app", "app.c", "lib/libmid.so"]);
    let program = shop.at("bin/app");
    assert_eq!(succeed(&mut Command::new(&program)), "plugin\n");
    let before = account(&program, GLIBC, &[]);
    let plan = planned(&program, &Options::default()).unwrap();
    assert_eq!(plan.binding.needed, ["libmid.so", "libc.so.6", "libhost.so", "ld-linux-x86-64.so.2"]);
    let farm = plan.farm.as_ref().unwrap();
    write_farm(farm, &farm.directory).unwrap();
    crate::common::rewrite(&program, &program, &plan);
    let after = account(&program, GLIBC, &[]);
    assert_eq!(after.files, before.files);
    assert_eq!(succeed(&mut Command::new(&program)), "plugin\n");
    assert_eq!(changes(&plan.binding, &program), []);
}

#[test]
fn programs_of_this_machine_can_be_planned() {
    if !ready(GLIBC) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let mut programs: Vec<PathBuf> = fs::read_dir("/usr/bin").unwrap().map(|entry| entry.unwrap().path()).collect();
    programs.sort();
    let files = MachineFiles::new();
    let mut outcomes = std::collections::BTreeMap::<String, usize>::new();
    let is_program = |path: &PathBuf| {
        let magic = |mut file: fs::File| std::io::Read::read_exact(&mut file, &mut [0; 4]).is_ok();
        path.is_file() && fs::File::open(path).is_ok_and(magic) && fs::read(path).unwrap().starts_with(b"\x7fELF")
    };
    for program in programs.iter().filter(|path| is_program(path)).step_by(7).take(60) {
        let name = program.file_name().unwrap();
        let options = Options { output: Some(scratch.path().join(name)), ..Options::default() };
        let subject = Program { path: program.clone(), ..Program::default() };
        let environment = coldstart_bind::machine_environment(program, &files, false);
        let outcome = match plan(&subject, &files, &environment, &options) {
            Ok(plan) => {
                assert_eq!(plan.binding.libraries.len() + 1, plan.predicted.objects, "{}", program.display());
                "bound"
            }
            Err(refusal) => {
                eprintln!("{}: {refusal}", program.display());
                refusal.code()
            }
        };
        *outcomes.entry(outcome.to_owned()).or_default() += 1;
    }
    eprintln!("{outcomes:#?}");
    let fine = ["bound", "static", "library", "nothing-to-bind", "interpreter", "missing-library", "unreadable"];
    assert!(outcomes.keys().all(|outcome| fine.contains(&outcome.as_str())), "{outcomes:#?}");
    assert!(outcomes.contains_key("bound"));
}
