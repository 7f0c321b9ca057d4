//! The crates' arrows point down only: who may use whom, as docs/design.md draws it.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

/// The trait of errors with advice, which every crate may use.
const EVERYWHERE: &str = "coldstart-hint";

/// Each crate and the crates of ours that it may use. A new crate must be entered here.
const MAY_USE: &[(&str, &[&str])] = &[
    (EVERYWHERE, &[]),
    ("coldstart-host", &[]),
    ("coldstart-http", &[]),
    ("coldstart-sys", &["coldstart-host"]),
    ("coldstart-profile", &[]),
    ("coldstart-elf", &[]),
    ("coldstart-output", &["coldstart-host"]),
    ("coldstart-packages", &["coldstart-output"]),
    ("coldstart-loader", &["coldstart-host", "coldstart-elf"]),
    ("coldstart-inspect", &["coldstart-elf", "coldstart-loader"]),
    (
        "coldstart-startup",
        &["coldstart-host", "coldstart-sys", "coldstart-profile", "coldstart-elf", "coldstart-loader"],
    ),
    // Independent of all that it judges: neither the planners nor their reader of ELF files.
    ("coldstart-prove", &[]),
    ("coldstart-rewrite", &["coldstart-sys", "coldstart-elf", "coldstart-output", "coldstart-prove"]),
    (
        "coldstart-bind",
        &[
            "coldstart-host",
            "coldstart-sys",
            "coldstart-elf",
            "coldstart-loader",
            "coldstart-output",
            "coldstart-startup",
            "coldstart-prove",
            "coldstart-rewrite",
        ],
    ),
    ("coldstart-pagecache", &["coldstart-host", "coldstart-sys", "coldstart-profile"]),
    ("coldstart-launch", &["coldstart-host", "coldstart-http", "coldstart-sys", "coldstart-elf", "coldstart-profile"]),
    ("coldstart-follow", &["coldstart-host", "coldstart-sys"]),
    (
        "coldstart-observe",
        &["coldstart-host", "coldstart-sys", "coldstart-elf", "coldstart-follow", "coldstart-launch"],
    ),
    ("coldstart-symbols", &["coldstart-sys", "coldstart-elf", "coldstart-profile"]),
    ("coldstart-analyse", &["coldstart-host", "coldstart-sys", "coldstart-profile", "coldstart-symbols"]),
    ("coldstart-import", &["coldstart-sys", "coldstart-elf", "coldstart-profile", "coldstart-analyse"]),
    (
        "coldstart-trace",
        &[
            "coldstart-host",
            "coldstart-sys",
            "coldstart-elf",
            "coldstart-profile",
            "coldstart-pagecache",
            "coldstart-launch",
            "coldstart-symbols",
            "coldstart-analyse",
            "coldstart-follow",
        ],
    ),
    ("coldstart-prefetch", &["coldstart-host", "coldstart-sys", "coldstart-profile"]),
    ("coldstart-history", &["coldstart-sys", "coldstart-profile"]),
    (
        "coldstart-image",
        &["coldstart-host", "coldstart-sys", "coldstart-profile", "coldstart-output", "coldstart-prefetch"],
    ),
    ("coldstart-archive", &[]),
    ("coldstart-oci", &["coldstart-profile", "coldstart-output", "coldstart-image"]),
    ("coldstart-index", &["coldstart-host", "coldstart-sys", "coldstart-profile", "coldstart-output"]),
    ("coldstart-order", &["coldstart-elf", "coldstart-profile", "coldstart-symbols"]),
    ("coldstart-install", &["coldstart-profile", "coldstart-output"]),
    ("coldstart-tracefile", &["coldstart-sys", "coldstart-profile", "coldstart-output"]),
    ("coldstart-view", &["coldstart-profile"]),
    (
        "coldstart-measure",
        &["coldstart-host", "coldstart-sys", "coldstart-profile", "coldstart-pagecache", "coldstart-launch"],
    ),
    ("coldstart-doctor", &["coldstart-host", "coldstart-sys", "coldstart-elf", "coldstart-loader"]),
    ("coldstart-tables", &["coldstart-inspect", "coldstart-loader", "coldstart-profile"]),
    (
        "coldstart-survey",
        &[
            "coldstart-app",
            "coldstart-elf",
            "coldstart-image",
            "coldstart-inspect",
            "coldstart-oci",
            "coldstart-output",
            "coldstart-packages",
            "coldstart-pagecache",
            "coldstart-profile",
            "coldstart-startup",
            "coldstart-sys",
            "coldstart-tables",
        ],
    ),
    (
        "coldstart-python",
        &[
            "coldstart-app",
            "coldstart-inspect",
            "coldstart-launch",
            "coldstart-profile",
            "coldstart-rewrite",
            "coldstart-startup",
            "coldstart-survey",
            "coldstart-tables",
        ],
    ),
    ("coldstart-survey-program", &["coldstart", "coldstart-survey"]),
    (
        "coldstart-app",
        &[
            "coldstart-archive",
            "coldstart-image",
            "coldstart-oci",
            "coldstart-order",
            "coldstart-symbols",
            "coldstart-import",
            "coldstart-index",
            "coldstart-observe",
            "coldstart-startup",
            "coldstart-host",
            "coldstart-http",
            "coldstart-sys",
            "coldstart-profile",
            "coldstart-elf",
            "coldstart-loader",
            "coldstart-inspect",
            "coldstart-prove",
            "coldstart-rewrite",
            "coldstart-pagecache",
            "coldstart-launch",
            "coldstart-trace",
            "coldstart-prefetch",
            "coldstart-measure",
            "coldstart-history",
            "coldstart-install",
            "coldstart-packages",
            "coldstart-bind",
            "coldstart-doctor",
            "coldstart-tracefile",
            "coldstart-output",
            "coldstart-view",
        ],
    ),
    (
        "coldstart",
        &[
            "coldstart-app",
            "coldstart-sys",
            "coldstart-profile",
            "coldstart-loader",
            "coldstart-archive",
            "coldstart-index",
            "coldstart-inspect",
            "coldstart-install",
            "coldstart-prove",
            "coldstart-rewrite",
            "coldstart-pagecache",
            "coldstart-launch",
            "coldstart-image",
            "coldstart-prefetch",
            "coldstart-measure",
            "coldstart-doctor",
            "coldstart-bind",
            "coldstart-startup",
            "coldstart-tracefile",
            "coldstart-output",
            "coldstart-view",
        ],
    ),
    ("coldstart-testing", &[]),
    ("coldstart-launcher", &["coldstart-sys", "coldstart-image", "coldstart-index", "coldstart-prefetch"]),
    ("coldstart-testbed", &["coldstart-host", "coldstart-sys"]),
    ("xtask", &["coldstart-host"]),
];

#[test]
fn crates_use_only_what_lies_below_them() {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec().unwrap();
    let ours: BTreeSet<String> = metadata.packages.iter().map(|package| package.name.to_string()).collect();
    let allowed: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let mut offences = Vec::new();
    for package in &metadata.packages {
        let Some(may_use) = allowed.get(package.name.as_str()) else {
            offences.push(format!("{} is not in the table of arrows", package.name));
            continue;
        };
        let used = package.dependencies.iter().filter(|used| used.kind == cargo_metadata::DependencyKind::Normal);
        for used in used.filter(|used| {
            ours.contains(&used.name) && used.name != EVERYWHERE && !may_use.contains(&used.name.as_str())
        }) {
            offences.push(format!("{} must not use {}", package.name, used.name));
        }
    }
    assert!(offences.is_empty(), "{offences:#?}");
}

/// Parts of the command line that know nothing of another part; the definition of the arguments is read before any work.
const APART_IN_CLI: &[(&str, &str)] =
    &[("args", "commands"), ("args", "output"), ("output", "args"), ("output", "commands")];

#[test]
fn the_parts_of_the_command_line_use_one_another_in_one_direction() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cli/src");
    let mut offences = Vec::new();
    for (part, other) in APART_IN_CLI {
        let files = walk(&source.join(part));
        assert!(!files.is_empty(), "{part}");
        let uses =
            |file: &std::path::PathBuf| std::fs::read_to_string(file).unwrap().contains(&format!("crate::{other}"));
        offences.extend(
            files.iter().filter(|file| uses(file)).map(|file| format!("{} must not use {other}", file.display())),
        );
    }
    assert!(offences.is_empty(), "{offences:#?}");
}

/// The layers of the proof, each of which uses those before it only.
const LAYERS_OF_PROVE: &[&str] = &["image", "tables", "loaded", "checks"];

#[test]
fn the_layers_of_the_proof_use_only_what_lies_below_them() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/prove/src");
    let mut offences = Vec::new();
    for (number, layer) in LAYERS_OF_PROVE.iter().enumerate() {
        let files = walk(&source.join(layer));
        assert!(!files.is_empty(), "{layer}");
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let above = LAYERS_OF_PROVE.iter().skip(number + 1);
            let used = above.filter(|above| text.contains(&format!("crate::{above}")));
            offences.extend(used.map(|above| format!("{} must not use {above}", file.display())));
        }
    }
    assert!(offences.is_empty(), "{offences:#?}");
}

#[test]
fn unsafe_code_stands_in_sys_only() {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec().unwrap();
    for package in metadata.packages.iter().filter(|package| package.name.as_str() != "coldstart-sys") {
        let manifest = std::fs::read_to_string(&package.manifest_path).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{} does not take the workspace's lints", package.name);
        let sources = walk(package.manifest_path.parent().unwrap().join("src").as_std_path());
        for source in sources {
            let text = std::fs::read_to_string(&source).unwrap();
            // A link section of its own counts as unsafe code; an `unsafe` block does not stand there either.
            let is_section = package.name.as_str() == EVERYWHERE && !text.contains("unsafe {");
            assert!(is_section || !text.contains("allow(unsafe_code"), "{} lets unsafe code in", source.display());
        }
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}

/// Who else reads the variable would have a meaning of its own for it.
#[test]
fn tests_skip_by_one_function() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let home = root.join("crates/testing");
    // Written so that it is not found here.
    let variable = ["COLDSTART", "NO", "SKIP"].join("_");
    let sources = ["crates", "bench"].iter().flat_map(|directory| walk(&root.join(directory)));
    let others =
        sources.filter(|path| path.extension().is_some_and(|suffix| suffix == "rs") && !path.starts_with(&home));
    let found: Vec<_> = others.filter(|path| std::fs::read_to_string(path).unwrap().contains(&variable)).collect();
    assert!(found.is_empty(), "{found:?} must call coldstart_testing::skip");
}

/// Facts of the running system have one home, docs/decisions/0024-facts-of-the-running-system.md.
#[test]
fn files_of_proc_are_named_in_host_only() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let home = root.join("crates/host");
    // Written so that it is not found here.
    let literal = ["\"", "/pro", "c/"].concat();
    let mut found = BTreeSet::new();
    for directory in ["crates", "bench", "xtask", "fuzz/fuzz_targets", "fuzz/src", "fixtures"] {
        let sources = walk(&root.join(directory)).into_iter();
        for source in sources.filter(|source| source.extension().is_some_and(|ending| ending == "rs")) {
            if !source.starts_with(&home) && std::fs::read_to_string(&source).unwrap().contains(&literal) {
                found.insert(source.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    assert_eq!(found, BTreeSet::new(), "take the path and its parser from coldstart-host");
}
