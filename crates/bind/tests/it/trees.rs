//! Generated folders of libraries that ask for one another: each plan is held against the real loader.
//!
//! Each tree comes from a seed, which a failure names.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use coldstart_bind::{Caution, Mode, Options, write_farm};
use coldstart_testing::Random;

use crate::common::{GLIBC, MUSL, Search, Workshop, account, changes, planned, ready};

const TREES: u64 = 60;
const NAMES: [&str; 9] =
    ["liba.so", "libb.so", "libc1.so", "libd.so", "libe.so.1", "libf.so", "libg.so", "libh.so", "libi.so"];
const FOLDERS: [&str; 4] = ["d0", "d1", "d2", "d3"];

/// Folders in some order; now and then one that is not there, and mostly all that are.
fn list(shop: &Workshop, random: &mut Random) -> String {
    let mut folders: Vec<&str> = FOLDERS.to_vec();
    for place in (1..folders.len()).rev() {
        folders.swap(place, random.below(place + 1));
    }
    if random.percent(3) {
        folders.pop();
    }
    if random.percent(20) {
        folders.insert(0, "gone");
    }
    let element = |folder: &str, random: &mut Random| match random.below(3) {
        0 => format!("$ORIGIN/../{folder}"),
        1 => format!("${{ORIGIN}}/../{folder}/"),
        _ => shop.at(folder).display().to_string(),
    };
    folders.into_iter().map(|folder| element(folder, random)).collect::<Vec<_>>().join(":")
}

fn search<'a>(text: &'a str, random: &mut Random, chance: usize) -> Search<'a> {
    match random.below(100) {
        roll if roll >= chance => Search::None,
        roll if roll % 2 == 0 => Search::Rpath(text),
        _ => Search::Runpath(text),
    }
}

fn needed(shop: &Workshop, random: &mut Random, count: usize, glibc: bool) -> Vec<String> {
    let name = |random: &mut Random| {
        let name = NAMES[random.below(NAMES.len())];
        match random.below(100) {
            0..3 => format!("{}/{}/{name}", shop.root.display(), random.pick(&FOLDERS)),
            3..6 if glibc => format!("$ORIGIN/../{}/{name}", random.pick(&FOLDERS)),
            6..9 if glibc => "libm.so.6".to_owned(),
            _ => name.to_owned(),
        }
    };
    (0..count).map(|_| name(random)).collect()
}

fn generate(shop: &mut Workshop, loader: &str, random: &mut Random) -> PathBuf {
    let glibc = loader == GLIBC;
    let mut made: Vec<PathBuf> = Vec::new();
    for name in NAMES {
        for _ in 0..1 + random.below(2) {
            let mut folder = random.pick(&FOLDERS).to_owned();
            if glibc && random.percent(6) {
                folder.push_str(random.pick(&["/glibc-hwcaps/x86-64-v2", "/glibc-hwcaps/x86-64-v3"]));
            }
            let output = shop.at(&folder).join(name);
            if output.symlink_metadata().is_ok() {
                continue;
            }
            fs::create_dir_all(output.parent().unwrap()).unwrap();
            if !made.is_empty() && random.percent(10) {
                symlink(&made[random.below(made.len())], &output).unwrap();
                continue;
            }
            let (text, count) = (list(shop, random), random.below(4));
            let needs = needed(shop, random, count, glibc);
            let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
            let path = search(&text, random, 92);
            // Mostly by its own name, now and then by another's or none.
            let soname = match random.below(100) {
                0..85 => Some(name),
                85..93 => Some(NAMES[random.below(NAMES.len())]),
                _ => None,
            };
            let mut kind = vec!["-shared"];
            kind.extend(soname.iter().flat_map(|soname| ["-soname", soname]));
            if random.percent(15) {
                shop.library_that_opens(&output, &kind, &needs, path);
            } else {
                shop.link(&output, &kind, &needs, path);
            }
            made.push(output);
        }
    }
    let (text, count) = (list(shop, random), 1 + random.below(4));
    let mut needs = needed(shop, random, count, glibc);
    if random.percent(60) {
        needs.push(if glibc { "libc.so.6" } else { "libc.so" }.to_owned());
    }
    let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
    let path = search(&text, random, 98);
    shop.program("bin/app", loader, &needs, path)
}

fn try_trees(loader: &str, modes: &[Mode]) {
    if !ready(loader) {
        return;
    }
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    let mut shop = Workshop::new();
    let base = shop.root.clone();
    for seed in 0..TREES {
        let mut random = Random::new(seed);
        shop.root = base.join(seed.to_string());
        let program = generate(&mut shop, loader, &mut random);
        let mode = modes[random.below(modes.len())];
        let plan = match planned(&program, &Options { mode, ..Options::default() }) {
            Ok(plan) => plan,
            Err(refusal) => {
                *outcomes.entry(refusal.code().to_owned()).or_default() += 1;
                continue;
            }
        };
        let before = account(&program, loader, &[]);
        if let Some(farm) = &plan.farm {
            write_farm(farm, &farm.directory).unwrap();
        }
        shop.apply(&program, loader, &plan.edit);
        let after = account(&program, loader, &[]);
        assert_eq!(after.files, before.files, "seed {seed}: {plan:#?}");
        let kept = |name: &str| {
            plan.cautions.iter().any(|caution| matches!(caution, Caution::KeepsPath { library, .. } if library == name))
        };
        for failed in after.failed.iter().filter(|_| mode == Mode::Soname) {
            let farm = &plan.farm.as_ref().unwrap().directory;
            let in_subfolder = failed.starts_with(farm) && failed.parent() != Some(farm);
            let name = failed.file_name().unwrap().to_str().unwrap();
            assert!(in_subfolder || kept(name), "seed {seed}: {} in vain: {plan:#?}", failed.display());
        }
        if loader == GLIBC {
            assert_eq!(after.failed.len(), plan.predicted.failed_probes_after, "seed {seed}: {plan:#?}");
        }
        assert_eq!(changes(&plan.binding, &program), [], "seed {seed}");
        *outcomes.entry(format!("{} bound", mode.name())).or_default() += 1;
        for caution in &plan.cautions {
            let kind = format!("{caution:?}");
            *outcomes.entry(kind.split([' ', '{']).next().unwrap().to_owned()).or_default() += 1;
        }
    }
    eprintln!("{outcomes:#?}");
    for mode in modes {
        let bound = outcomes.get(&format!("{} bound", mode.name())).copied().unwrap_or(0);
        assert!(bound * modes.len() * 4 > TREES as usize, "too few trees can be bound: {outcomes:#?}");
    }
}

#[test]
fn glibc_loads_the_same_by_names() {
    try_trees(GLIBC, &[Mode::Soname]);
}

#[test]
fn glibc_loads_the_same_by_paths() {
    try_trees(GLIBC, &[Mode::Absolute, Mode::Origin]);
}

#[test]
fn musl_loads_the_same() {
    try_trees(MUSL, &[Mode::Soname]);
}
