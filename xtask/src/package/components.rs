//! What the programs are built of: a bill of materials (SBOM, in the form of CycloneDX 1.5), and the texts of the licences.
//!
//! Only what is in the programs counts: what runs while they are compiled (build scripts, procedural macros) or tested is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use serde_json::{Value, json};

use super::{Source, text_of};
use crate::cargo::metadata;

/// The crates of the programs that are always installed.
pub(super) const PROGRAMS: &[&str] = &["coldstart", "coldstart-launcher"];
/// The crate of the program for surveys.
pub(super) const SURVEY: &[&str] = &["coldstart-survey-program"];

/// A package of which code is in the programs.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Component {
    name: String,
    version: String,
    /// An SPDX expression.
    licence: String,
    directory: PathBuf,
    /// Names and versions of those that it uses itself.
    uses: Vec<(String, String)>,
}

impl Component {
    fn url(name: &str, version: &str) -> String {
        format!("pkg:cargo/{name}@{version}")
    }
}

/// Writes `sbom.cdx.json` and `third-party-licences` for programs, by the names of their crates, of a target into a directory.
pub(super) fn write(programs: &[&str], target: &str, source: &Source, directory: &Path) -> Result<()> {
    let metadata = metadata(&["--locked", "--filter-platform", target])?;
    let components = components(&metadata, programs).context("cargo metadata lacks something")?;
    let sums = checksums(&text_of("Cargo.lock")?);
    fs::create_dir_all(directory)?;
    let bill = serde_json::to_string_pretty(&bill(&components, &sums, source))?;
    fs::write(directory.join("sbom.cdx.json"), bill + "\n")?;
    fs::write(directory.join("third-party-licences"), licences(&components)?)?;
    Ok(())
}

/// All packages of others of which code is in the programs, by name.
fn components(metadata: &Value, programs: &[&str]) -> Option<BTreeSet<Component>> {
    let packages: BTreeMap<&str, &Value> = metadata["packages"]
        .as_array()?
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes: BTreeMap<&str, &Value> =
        metadata["resolve"]["nodes"].as_array()?.iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let is_macro = |package: &Value| {
        package["targets"].as_array().into_iter().flatten().any(|target| target["kind"][0] == "proc-macro")
    };
    let linked = |id: &str| -> Option<Vec<&str>> {
        let dependencies = nodes.get(id)?["deps"].as_array()?.iter();
        let dependencies = dependencies.filter(|dependency| {
            dependency["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
        });
        let ids = dependencies.filter_map(|dependency| dependency["pkg"].as_str());
        Some(ids.filter(|id| packages.get(id).is_some_and(|package| !is_macro(package))).collect())
    };
    let mut open: Vec<&str> = packages
        .iter()
        .filter(|(_, package)| package["name"].as_str().is_some_and(|name| programs.contains(&name)))
        .map(|(id, _)| *id)
        .collect();
    let mut seen: BTreeSet<&str> = open.iter().copied().collect();
    while let Some(id) = open.pop() {
        open.extend(linked(id)?.into_iter().filter(|id| seen.insert(id)));
    }
    let named = |id: &str| {
        let package = packages.get(id)?;
        Some((package["name"].as_str()?.to_owned(), package["version"].as_str()?.to_owned()))
    };
    let mut components = BTreeSet::new();
    for id in seen {
        let package = packages.get(id)?;
        // Those of the workspace have no source.
        if package["source"].is_null() {
            continue;
        }
        let (name, version) = named(id)?;
        components.insert(Component {
            name,
            version,
            licence: package["license"].as_str().unwrap_or("NOASSERTION").replace('/', " OR "),
            directory: Path::new(package["manifest_path"].as_str()?).parent()?.to_owned(),
            uses: linked(id)?.into_iter().filter_map(named).collect(),
        });
    }
    Some(components)
}

/// SHA-256 of each package's archive, by name and version, as `Cargo.lock` has them.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut sums = BTreeMap::new();
    for package in lock.split("[[package]]\n").skip(1) {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            line.and_then(|rest| rest.strip_suffix('"')).map(str::to_owned)
        };
        if let (Some(name), Some(version), Some(sum)) = (value("name"), value("version"), value("checksum")) {
            sums.insert((name, version), sum);
        }
    }
    sums
}

fn bill(components: &BTreeSet<Component>, sums: &BTreeMap<(String, String), String>, source: &Source) -> Value {
    let listed: Vec<Value> = components
        .iter()
        .map(|component| {
            let Component { name, version, licence, .. } = component;
            let sum = sums.get(&(name.clone(), version.clone()));
            let hashes: Vec<Value> = sum.iter().map(|sum| json!({ "alg": "SHA-256", "content": sum })).collect();
            let url = Component::url(name, version);
            json!({
                "type": "library", "bom-ref": url, "name": name, "version": version, "purl": url,
                "licenses": [{ "expression": licence }], "hashes": hashes,
            })
        })
        .collect();
    let dependencies: Vec<Value> = components
        .iter()
        .map(|component| {
            let uses: BTreeSet<String> =
                component.uses.iter().map(|(name, version)| Component::url(name, version)).collect();
            json!({ "ref": Component::url(&component.name, &component.version), "dependsOn": uses })
        })
        .collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application", "bom-ref": "coldstart", "name": "coldstart", "version": source.version,
            "licenses": [{ "expression": "MIT OR Apache-2.0" }],
        } },
        "components": listed,
        "dependencies": dependencies,
    })
}

/// All licence texts of the packages; one that several share stands once, below all their names.
fn licences(components: &BTreeSet<Component>) -> Result<String> {
    const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for component in components {
        let title = format!("{} {} ({})", component.name, component.version, component.licence);
        for entry in fs::read_dir(&component.directory)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
                let text = String::from_utf8_lossy(&fs::read(&path)?).trim().to_owned();
                texts.entry(text).or_default().push(title.clone());
            }
        }
    }
    let mut by_title: Vec<(Vec<String>, String)> = texts
        .into_iter()
        .map(|(text, mut titles)| {
            titles.dedup();
            (titles, text)
        })
        .collect();
    by_title.sort();
    let mut all = "The licences of what coldstart is built of.\n".to_owned();
    for (titles, text) in by_title {
        all.push_str(&format!("\n{}\n{}\n\n{text}\n", "=".repeat(80), titles.join("\n")));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_lists_what_is_in_the_programs_and_nothing_that_only_builds_or_tests_them() {
        let directory = tempfile::tempdir().unwrap();
        let source = Source { version: "1.2".to_owned(), time: "1700000000".to_owned() };
        let target = crate::architecture::Architecture::native().unwrap().target();
        write(PROGRAMS, &target, &source, directory.path()).unwrap();
        let bill: Value = serde_json::from_slice(&fs::read(directory.path().join("sbom.cdx.json")).unwrap()).unwrap();
        let components = bill["components"].as_array().unwrap();
        let names: Vec<&str> = components.iter().map(|component| component["name"].as_str().unwrap()).collect();
        for name in ["clap", "libsqlite3-sys", "object", "rustix"] {
            assert!(names.contains(&name), "{name} of {names:?}");
        }
        for name in ["proptest", "insta", "syn", "cc", "coldstart-elf", "cargo_metadata"] {
            assert!(!names.contains(&name), "{name} of {names:?}");
        }
        let references: BTreeSet<&str> =
            components.iter().map(|component| component["bom-ref"].as_str().unwrap()).collect();
        for component in components {
            assert_eq!(component["hashes"][0]["content"].as_str().map(str::len), Some(64), "{component}");
            assert_ne!(component["licenses"][0]["expression"], "NOASSERTION", "{component}");
        }
        for dependency in bill["dependencies"].as_array().unwrap() {
            let uses = dependency["dependsOn"].as_array().unwrap();
            assert!(uses.iter().all(|used| references.contains(used.as_str().unwrap())), "{dependency}");
        }
        let licences = fs::read_to_string(directory.path().join("third-party-licences")).unwrap();
        assert!(licences.contains("clap ") && licences.contains("Permission is hereby granted"), "{licences}");
    }
}
