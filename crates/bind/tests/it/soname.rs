//! Mode `soname` on small programs, each rule by the real loader: the same files in the same order, found at the
//! first try.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use coldstart_bind::{
    BindPlan, Caution, FarmText, Files as _, KeepReason, MachineFiles, Options, Refusal, TagName, write_farm,
};

use crate::common::{GLIBC, MUSL, Search, Workshop, account, changes, planned, ready};

/// Binds in place and holds the real loader's accounts against each other. Probes may fail in level folders of the farm
/// and for names that keep their path.
fn bind(shop: &mut Workshop, program: &Path, loader: &str, options: &Options) -> BindPlan {
    let before = account(program, loader, &[]);
    let plan = planned(program, options).unwrap();
    let again = planned(program, options).unwrap();
    assert_eq!(plan, again);
    let farm = plan.farm.as_ref().unwrap();
    write_farm(farm, &farm.directory).unwrap();
    shop.apply(program, loader, &plan.edit);
    let after = account(program, loader, &[]);
    assert_eq!(after.files, before.files, "{plan:#?}");
    let kept: Vec<&str> = plan
        .cautions
        .iter()
        .filter_map(|caution| match caution {
            Caution::KeepsPath { library, .. } => Some(library.as_str()),
            _ => None,
        })
        .collect();
    for failed in &after.failed {
        let in_subfolder = failed.starts_with(&farm.directory) && failed.parent() != Some(&farm.directory);
        let name = failed.file_name().unwrap().to_str().unwrap();
        assert!(in_subfolder || kept.contains(&name), "{} is tried in vain: {after:#?}", failed.display());
    }
    if loader == GLIBC {
        assert_eq!(after.failed.len(), plan.predicted.failed_probes_after);
    }
    assert_eq!(changes(&plan.binding, program), []);
    let text = plan.binding.to_json().unwrap();
    assert_eq!(coldstart_bind::Binding::from_json(&text).unwrap(), plan.binding);
    assert_eq!(plan.binding.edit(), plan.edit);
    plan
}

fn names(plan: &BindPlan) -> Vec<&str> {
    plan.binding.needed.iter().map(String::as_str).collect()
}

/// A program in bin/ whose libraries stand in a folder each and bring one another in.
fn diamond(shop: &mut Workshop, loader: &str, libc: &str) -> std::path::PathBuf {
    let path = "$ORIGIN/../a:$ORIGIN/../b:$ORIGIN/../c:$ORIGIN/../d";
    shop.library("a/liba.so", &["libc1.so", "libd.so"], Search::Runpath(path));
    shop.library("b/libb.so", &["libd.so", libc], Search::Runpath(path));
    shop.library("c/libc1.so", &[libc], Search::Runpath(path));
    shop.library("d/libd.so", &["liba.so", libc], Search::Runpath(path));
    shop.program("bin/app", loader, &["liba.so", "libb.so", libc], Search::Runpath(path))
}

#[test]
fn names_come_in_load_order_and_are_found_at_once() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let program = diamond(&mut shop, GLIBC, "libc.so.6");
    let plan = bind(&mut shop, &program, GLIBC, &Options::default());
    assert_eq!(names(&plan), ["liba.so", "libb.so", "libc.so.6", "libc1.so", "libd.so", "ld-linux-x86-64.so.2"]);
    let path = plan.binding.path.as_ref().unwrap();
    assert_eq!(path.kind, TagName::Runpath);
    assert_eq!(path.text, "$ORIGIN/.app.libs:$ORIGIN/../a:$ORIGIN/../b:$ORIGIN/../c:$ORIGIN/../d");
    let farm = plan.farm.as_ref().unwrap();
    let links: Vec<_> = farm.links.iter().map(|link| (link.path(), link.target.as_str())).collect();
    assert_eq!(links[0], ("liba.so".to_owned(), "../../a/liba.so"));
    assert!(links[2].1.starts_with('/'), "{links:?}");
    assert_eq!(links.len(), 5);
    assert!(plan.predicted.failed_probes_before > plan.predicted.failed_probes_after);
    // The loader looks into the folder of the processor's level first, whichever that is, and needs no other.
    let levels: Vec<_> = farm.same_levels.iter().map(|same| (same.path(), same.target())).collect();
    let level = |level: &str| (format!("glibc-hwcaps/{level}"), "..".to_owned());
    assert_eq!(levels, ["x86-64-v2", "x86-64-v3", "x86-64-v4"].map(level));
    // The tree moves as a whole.
    let moved = shop.root.parent().unwrap().join("moved");
    fs::rename(&shop.root, &moved).unwrap();
    let after = account(&moved.join("bin/app"), GLIBC, &[]);
    assert!(after.paths[0].starts_with(moved.join("bin/.app.libs")) && after.paths[0].ends_with("liba.so"));
    assert_eq!(after.failed.len(), plan.predicted.failed_probes_after);
    assert_eq!(changes(&plan.binding, &moved.join("bin/app")), []);
}

#[test]
fn musl_finds_them_at_once_too() {
    if !ready(MUSL) {
        return;
    }
    let mut shop = Workshop::new();
    let program = diamond(&mut shop, MUSL, "libc.so");
    let plan = bind(&mut shop, &program, MUSL, &Options::default());
    assert_eq!(names(&plan), ["liba.so", "libb.so", "libc.so", "libc1.so", "libd.so"]);
    assert_eq!(plan.predicted.failed_probes_after, 0);
}

#[test]
fn ld_library_path_still_replaces_a_library() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let program = diamond(&mut shop, GLIBC, "libc.so.6");
    let other = shop.library("other/libd.so", &[], Search::None);
    bind(&mut shop, &program, GLIBC, &Options::default());
    let after = account(&program, GLIBC, &[("LD_LIBRARY_PATH", shop.at("other").to_str().unwrap())]);
    assert!(after.files.contains(&other), "{after:?}");
    let after = account(&program, GLIBC, &[("LD_PRELOAD", shop.at("d/libd.so").to_str().unwrap())]);
    let count = after.files.iter().filter(|file| file.ends_with("libd.so")).count();
    assert_eq!(count, 1, "{after:?}");
}

#[test]
fn an_rpath_stays_one_and_says_what_it_hides() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let root = shop.root.display().to_string();
    shop.library("a/liba.so", &["libb.so"], Search::Runpath(&format!("{root}/b")));
    shop.library("b/libb.so", &["libc.so.6"], Search::None);
    let program = shop.program("bin/app", GLIBC, &["liba.so"], Search::Rpath(&format!("{root}/x:{root}/a")));
    let plan = bind(&mut shop, &program, GLIBC, &Options::default());
    assert_eq!(plan.binding.path.as_ref().unwrap().kind, TagName::Rpath);
    let libraries = vec!["libb.so".to_owned(), "libc.so.6".to_owned()];
    assert_eq!(plan.cautions, [Caution::NotOverridable { libraries }]);

    // The library's own RPATH, and a program without.
    shop.library("e/libe.so", &["libb.so"], Search::Rpath(&format!("{root}/b")));
    let program = shop.program("bin/other", GLIBC, &["libe.so"], Search::Runpath(&format!("{root}/e")));
    let plan = bind(&mut shop, &program, GLIBC, &Options::default());
    assert_eq!(plan.cautions, [Caution::NowOverridable { libraries: vec!["libb.so".to_owned()] }]);
}

#[test]
fn another_name_of_a_loaded_file_has_a_link() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let root = shop.root.display().to_string();
    shop.library("a/liba.so", &["libalias.so", "libz.so"], Search::Runpath(&format!("{root}/x:{root}/b")));
    shop.library("b/libb.so", &[], Search::None);
    shop.library("b/libz.so", &["libalias.so", "libb.so"], Search::Runpath(&format!("{root}/x:{root}/b")));
    symlink("libb.so", shop.at("b/libalias.so")).unwrap();
    let program =
        shop.program("bin/app", GLIBC, &["liba.so", "libb.so"], Search::Runpath(&format!("{root}/a:{root}/b")));
    let plan = bind(&mut shop, &program, GLIBC, &Options::default());
    assert_eq!(names(&plan), ["liba.so", "libb.so", "libalias.so", "libz.so"]);
    let last = plan.farm.as_ref().unwrap().links.iter().find(|link| link.name == "libalias.so").unwrap();
    // Followed only as far as the loader did: an upgrade of the link is followed.
    assert_eq!(Path::new(&last.target), shop.at("b/libalias.so"));
}

#[test]
fn a_library_that_opens_others_beside_itself_keeps_its_path() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let path = "$ORIGIN/../x:$ORIGIN/../a:$ORIGIN/../b";
    shop.library("a/liba.so", &["libopens.so"], Search::Runpath("$ORIGIN:$ORIGIN/../b"));
    shop.opener("b/libopens.so", &["libc.so.6"], Search::Runpath("$ORIGIN/plugins"));
    shop.library("b/libneeds.so", &["$ORIGIN/sub/libs.so"], Search::None);
    shop.library("b/sub/libs.so", &[], Search::None);
    let program = shop.program("bin/app", GLIBC, &["liba.so", "libneeds.so"], Search::Runpath(path));
    let plan = bind(&mut shop, &program, GLIBC, &Options::default());
    let text = &plan.binding.path.as_ref().unwrap().text;
    assert_eq!(text, "$ORIGIN/.app.libs:$ORIGIN/../b:$ORIGIN/../x:$ORIGIN/../a:$ORIGIN/../b");
    // The way to `sub` is the same text that the library asks for, and moves along.
    assert!(names(&plan).contains(&"$ORIGIN/../b/sub/libs.so"), "{:?}", names(&plan));
    let kept: Vec<_> = plan
        .cautions
        .iter()
        .map(|caution| match caution {
            Caution::KeepsPath { library, reason, failed_probes } => (library.as_str(), *reason, *failed_probes > 0),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        kept,
        [("libneeds.so", KeepReason::NeedsByOrigin, true), ("libopens.so", KeepReason::OpensByOrigin, true)]
    );
    let after = account(&program, GLIBC, &[]);
    assert!(after.paths.contains(&shop.at("bin/../b/libopens.so")), "{after:?}");
}

#[test]
fn a_library_that_can_ask_for_its_path_keeps_it() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let path = "$ORIGIN/../x:$ORIGIN/../a:$ORIGIN/../b";
    shop.library("a/liba.so", &["libasks.so", "libcrypto.so.3"], Search::Runpath("$ORIGIN/../b"));
    shop.asker("b/libasks.so", "libasks.so", &["libc.so.6"], Search::None);
    shop.asker("b/libcrypto.so.3", "libcrypto.so.3", &["libc.so.6"], Search::None);
    let program = shop.program("bin/app", GLIBC, &["liba.so"], Search::Runpath(path));
    let plan = bind(&mut shop, &program, GLIBC, &Options::default());
    assert!(
        matches!(
            &plan.cautions[..],
            [Caution::KeepsPath { library, reason: KeepReason::AsksOwnPath, .. }] if library == "libasks.so"
        ),
        "{:?}",
        plan.cautions
    );
    assert!(plan.binding.keeps_path("libasks.so") && !plan.binding.keeps_path("libcrypto.so.3"));
    let after = account(&program, GLIBC, &[]);
    let asks = after.paths.iter().find(|path| path.ends_with("libasks.so")).unwrap();
    assert_eq!(asks.parent().unwrap().canonicalize().unwrap(), shop.at("b"), "{after:?}");
    // It is as well for what wraps dladdr.
    let of_the_system = Path::new("/usr/lib/x86_64-linux-gnu/libnssutil3.so");
    if of_the_system.exists() {
        assert!(MachineFiles::new().details(of_the_system).unwrap().asks_own_path);
    }
}

#[test]
fn a_folder_of_the_system_is_not_searched_before_the_programs_own() {
    if !ready(GLIBC) {
        return;
    }
    // A library of the system, in a folder that the loader's cache knows, that can ask for its path.
    let Some(name) = ["libasound.so.2", "libgstreamer-1.0.so.0", "libpulse.so.0"]
        .into_iter()
        .find(|name| Path::new("/usr/lib/x86_64-linux-gnu").join(name).exists())
    else {
        return crate::common::skip("no library of the system that asks for its path");
    };
    let mut shop = Workshop::new();
    shop.library("a/liba.so", &[name, "libc.so.6"], Search::None);
    let program = shop.program("bin/app", GLIBC, &["liba.so"], Search::Runpath("$ORIGIN/../x:$ORIGIN/../a"));
    let plan = bind(&mut shop, &program, GLIBC, &Options::default());
    assert!(plan.binding.keeps_path(name), "{:?}", plan.cautions);
    assert_eq!(plan.binding.path.as_ref().unwrap().text, "$ORIGIN/.app.libs:$ORIGIN/../x:$ORIGIN/../a");
}

#[test]
fn asked_for_libraries_keep_their_path() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let program = diamond(&mut shop, GLIBC, "libc.so.6");
    let options = Options { keep_path: vec!["libd.so".to_owned(), "libno.so".to_owned()], ..Options::default() };
    let plan = bind(&mut shop, &program, GLIBC, &options);
    assert!(
        matches!(
            &plan.cautions[..],
            [Caution::KeepsPath { reason: KeepReason::Asked, .. }, Caution::NotSearched { .. }]
        ),
        "{:?}",
        plan.cautions
    );
    let links = &plan.farm.as_ref().unwrap().links;
    assert!(!links.iter().any(|link| link.name == "libd.so"));
}

#[test]
fn variants_for_levels_have_folders_of_their_own() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let root = shop.root.display().to_string();
    let path = format!("{root}/x:{root}/a");
    shop.library("a/liba.so", &["libb.so"], Search::Runpath(&path));
    shop.library("a/glibc-hwcaps/x86-64-v2/liba.so", &["libb.so"], Search::Runpath(&path));
    shop.library("a/glibc-hwcaps/x86-64-v3/libb.so", &[], Search::None);
    shop.library("a/libb.so", &[], Search::None);
    let program = shop.program("bin/app", GLIBC, &["liba.so"], Search::Runpath(&path));
    let plan = bind(&mut shop, &program, GLIBC, &Options::default());
    let links: Vec<_> = plan
        .farm
        .as_ref()
        .unwrap()
        .links
        .iter()
        .map(|link| (link.path(), Path::new(&link.target).strip_prefix(shop.at("a")).unwrap().display().to_string()))
        .collect();
    let expected = [
        ("liba.so", "liba.so"),
        ("libb.so", "libb.so"),
        ("glibc-hwcaps/x86-64-v2/liba.so", "glibc-hwcaps/x86-64-v2/liba.so"),
        ("glibc-hwcaps/x86-64-v2/libb.so", "libb.so"),
        ("glibc-hwcaps/x86-64-v3/liba.so", "glibc-hwcaps/x86-64-v2/liba.so"),
        ("glibc-hwcaps/x86-64-v3/libb.so", "glibc-hwcaps/x86-64-v3/libb.so"),
    ];
    assert_eq!(links, expected.map(|(path, target)| (path.to_owned(), target.to_owned())));
    // Each level by the real loader, which can be told to be older.
    for (mask, first) in [("x86-64-v2", "a/glibc-hwcaps/x86-64-v2/liba.so"), ("none", "a/liba.so")] {
        let listed = coldstart_testing::succeed(
            std::process::Command::new(GLIBC).args(["--glibc-hwcaps-mask", mask, "--list"]).arg(&program),
        );
        let path = listed.lines().find(|line| line.contains("liba.so")).unwrap().split(' ').nth(2).unwrap();
        assert_eq!(fs::canonicalize(path).unwrap(), shop.at(first), "{mask}");
    }
    // A variant that needs something else makes two orders.
    shop.library("a/glibc-hwcaps/x86-64-v3/liba.so", &["libc.so.6", "libb.so"], Search::Runpath(&path));
    let program = shop.program("bin/app", GLIBC, &["liba.so"], Search::Runpath(&path));
    let refusal = planned(&program, &Options::default()).unwrap_err();
    assert_eq!(refusal.code(), "levels-differ", "{refusal}");
    let options = Options { levels: Some(Vec::new()), ..Options::default() };
    let plan = planned(&program, &options).unwrap();
    assert!(plan.cautions.contains(&Caution::LevelFrozen { levels: Vec::new() }));
}

#[test]
fn folders_of_older_releases_are_refused_by_name() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    shop.library("a/liba.so", &[], Search::None);
    shop.library("a/tls/haswell/liba.so", &[], Search::None);
    let program = shop.program("bin/app", GLIBC, &["liba.so"], Search::Runpath("$ORIGIN/../a"));
    let mut environment = crate::common::environment(&program);
    environment.hwcaps.combined = Some(vec![b"x86_64".to_vec()]);
    let subject = coldstart_bind::Program { path: program, ..Default::default() };
    let files = coldstart_bind::MachineFiles::new();
    let refusal = coldstart_bind::plan(&subject, &files, &environment, &Options::default()).unwrap_err();
    let path = shop.at("bin/../a/tls/haswell");
    assert_eq!(refusal, Refusal::LegacyDirectory { library: "liba.so".to_owned(), path });
}

#[test]
fn the_result_may_stand_elsewhere_and_so_may_the_links() {
    if !ready(GLIBC) {
        return;
    }
    let mut shop = Workshop::new();
    let root = shop.root.display().to_string();
    shop.library("a/liba.so", &["libc.so.6"], Search::None);
    let program = shop.program("bin/app", GLIBC, &["liba.so"], Search::Runpath("$ORIGIN/../a"));
    fs::create_dir_all(shop.at("far/bin")).unwrap();
    let options = Options { output: Some(shop.at("far/bin/app")), ..Options::default() };
    let plan = planned(&program, &options).unwrap();
    assert_eq!(plan.farm.as_ref().unwrap().links[0].target, format!("{root}/bin/../a/liba.so"));
    assert_eq!(plan.cautions, [Caution::OriginMoves]);
    let farm = plan.farm.unwrap();
    write_farm(&farm, &farm.directory).unwrap();
    shop.apply(&shop.at("far/bin/app"), GLIBC, &plan.edit);
    let after = account(&shop.at("far/bin/app"), GLIBC, &[]);
    assert_eq!(after.files[0], shop.at("a/liba.so"));
    assert_eq!(changes(&plan.binding, &shop.at("far/bin/app")), []);

    let options = Options { farm: Some(shop.at("farms")), farm_text: FarmText::Origin, ..Options::default() };
    let plan = bind(&mut shop, &program, GLIBC, &options);
    assert!(plan.binding.path.unwrap().text.starts_with("$ORIGIN/../farms:"));
    assert_eq!(plan.farm.unwrap().links[0].target, "../bin/../a/liba.so");
}
