//! Every library of this machine, packed to a scratch folder and proven; a sample of them is loaded like its original.

use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_testing::skip;
use serde_json::Value;

/// Loads the library that it is given at once, and prints what the loader says.
const LOADER: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments) {
    if (count > 1 && dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL)) puts("loaded");
    else puts(dlerror());
    return 0;
}
"#;

/// As many packed libraries are loaded.
const SAMPLE: usize = 40;

/// The folder of this machine's libraries.
fn libraries() -> Option<PathBuf> {
    let said = Command::new("gcc").arg("-print-multiarch").output().ok()?;
    let folder = Path::new("/usr/lib").join(String::from_utf8(said.stdout).ok()?.trim());
    (folder != Path::new("/usr/lib") && folder.is_dir()).then_some(folder)
}

#[test]
fn libraries_of_this_machine_are_packed_proven_and_load_as_before() {
    let Some(folder) = libraries() else { return skip("no folder of libraries for this machine") };
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let packed = scratch.path().join("packed");
    let mut pack = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    let said = pack.arg("pack").arg(&folder).arg("-o").arg(&packed).arg("--json").output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let report: Value = serde_json::from_str(&said).unwrap();
    let outcome = |file: &Value, outcome: &str| file["outcome"] == outcome;
    let files = report["files"].as_array().unwrap();
    // A damaged or unreadable file among them is not for us to judge; a result that is not proven is.
    let unproven: Vec<&Value> = files
        .iter()
        .filter(|file| outcome(file, "failed") && file["error"].as_str().unwrap().contains("not proven"))
        .collect();
    assert!(unproven.is_empty(), "{unproven:#?}");
    let results: Vec<&Value> = files.iter().filter(|file| outcome(file, "packed")).collect();
    for result in &results {
        assert!(result["proof"]["memory_bytes"].as_u64().unwrap() > 0, "{result:#}");
        let size = |name: &str| result["summary"][name].as_u64().unwrap();
        assert!(size("size_after") < size("size_before"), "{result:#}");
        assert_eq!(std::fs::metadata(result["output"].as_str().unwrap()).unwrap().len(), size("size_after"));
    }
    eprintln!("{} of {} files packed: {}", results.len(), files.len(), report["total"]);
    if results.len() < 20 {
        return skip("fewer than 20 libraries that can be packed");
    }
    load_sample(&scratch.path().join("loader"), &folder, &results);
}

fn load_sample(loader: &Path, folder: &Path, results: &[&Value]) {
    let source = loader.with_extension("c");
    std::fs::write(&source, LOADER).unwrap();
    let built = Command::new("gcc").arg("-o").arg(loader).arg(&source).arg("-ldl").output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let load = |library: &str| {
        // A packed copy finds its neighbours by their names where the original's are.
        let said = Command::new(loader).arg(library).env("LD_LIBRARY_PATH", folder).output().unwrap();
        (said.status.code(), String::from_utf8_lossy(&said.stdout).replace(library, "LIBRARY"))
    };
    let mut loaded = 0;
    for result in results.iter().step_by(results.len().div_ceil(SAMPLE)) {
        let before = load(result["path"].as_str().unwrap());
        let after = load(result["output"].as_str().unwrap());
        assert_eq!(before, after, "{result:#}");
        loaded += usize::from(before.1.contains("loaded"));
    }
    eprintln!("{loaded} of the sample load");
    assert!(loaded > 0);
}
