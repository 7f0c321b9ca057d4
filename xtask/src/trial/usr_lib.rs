//! Everything in /usr/lib packed to a directory and proven; then every fifth file that was packed is loaded, and its
//! original, each in a process of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::ground::{Ground, outcomes, totals};
use super::process::{said, stdout};
use super::table::Table;
use crate::tools::{Tool, tool};

pub(super) const TOOLS: &[Tool] = &[tool("cc", "gcc")];

const DIRECTORY: &str = "/usr/lib/x86_64-linux-gnu";
/// Of so many that were packed one is loaded.
const EVERY: usize = 5;

const LOADER: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char **arguments)
{
    alarm(20); /* Some initialisers wait for others. */
    const char *answer = count == 2 && dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) ? "loaded" : dlerror();
    puts(answer);
    fflush(stdout);
    _exit(0);
}
"#;

pub(super) fn make(ground: &Ground, table: &mut Table) -> Result<()> {
    let loader = ground.directory.join("loader");
    stdout(ground.command("cc").args(["-O2", "-o"]).arg(&loader).arg(ground.write("loader.c", LOADER)?))?;
    let results = ground.side(true);
    let packed = match ground.pack_for_json(&[DIRECTORY.into(), "-o".into(), results.clone()])? {
        Some(told) => {
            table.told(&format!("all of {DIRECTORY}, packed and proven"), &totals(&told));
            reasons(&told).iter().for_each(|(reason, count)| table.told(reason, &count.to_string()));
            packed_pairs(&told)?
        }
        None => copied_pairs(&results)?,
    };
    let (mut loaded, mut same) = (0, 0);
    for (original, packed) in packed.iter().step_by(EVERY) {
        // What it finds beside itself must be found from the copy's place, too.
        let beside = original.parent().context("a file without a directory")?;
        let answer = |file: &Path| {
            let told = said(ground.command(&loader).arg(file).env("LD_LIBRARY_PATH", beside))?;
            anyhow::Ok(told.replace(&*file.to_string_lossy(), "[FILE]"))
        };
        let (one, other) = (answer(original)?, answer(packed)?);
        loaded += usize::from(one.contains("\nloaded"));
        if one == other {
            same += 1;
        } else {
            table.failed(&original.to_string_lossy(), &format!("`{}` became `{}`", one.trim(), other.trim()));
        }
    }
    let tried = packed.len().div_ceil(EVERY);
    ensure!(loaded * 2 > tried, "only {loaded} of {tried} originals load");
    table.told("every fifth that was packed", &format!("{tried} tried, {loaded} load, {same} the same packed"));
    Ok(())
}

/// Where each file that was packed lies, and its packed form.
fn packed_pairs(told: &serde_json::Value) -> Result<Vec<(PathBuf, PathBuf)>> {
    let packed = outcomes(told).filter(|(outcome, _)| *outcome == "packed");
    let path = |file: &serde_json::Value, name: &str| file.get(name)?.as_str().map(PathBuf::from);
    let pairs = packed.map(|(_, file)| Some((path(file, "path")?, path(file, "output")?)));
    pairs.collect::<Option<_>>().context("a packed file without its paths")
}

/// How often each reason was given why a file was not packed.
fn reasons(told: &serde_json::Value) -> std::collections::BTreeMap<String, u32> {
    let mut reasons = std::collections::BTreeMap::new();
    for (outcome, file) in outcomes(told).filter(|(outcome, _)| *outcome != "packed") {
        let reason = [format!("/{outcome}/reason"), "/reason".to_owned(), "/refusal/reason".to_owned()];
        let reason = reason.iter().find_map(|place| file.pointer(place)?.as_str()).unwrap_or("for no reason given");
        *reasons.entry(format!("{outcome}: {reason}")).or_insert(0) += 1;
    }
    reasons
}

/// Copies of the libraries that lie in the directory itself.
fn copied_pairs(results: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
    fs_err::create_dir_all(results)?;
    let mut pairs = Vec::new();
    for entry in fs_err::read_dir(DIRECTORY)? {
        let (path, name) =
            (entry.as_ref().map(fs_err::DirEntry::path), entry.as_ref().map(fs_err::DirEntry::file_name));
        let (Ok(path), Ok(name)) = (path, name) else { continue };
        if path.is_symlink() || !path.is_file() || !name.to_string_lossy().contains(".so") {
            continue;
        }
        fs_err::copy(&path, results.join(&name))?;
        pairs.push((path, results.join(&name)));
    }
    pairs.sort();
    Ok(pairs)
}
