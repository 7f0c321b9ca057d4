//! Packing a finished library compared with linking it again with packed relocations.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::figure::{Asked, Figure, Unit};
use super::pack_files::{Packing, pack};
use super::workshop::{Workshop, text};

/// Linkers by the name that `-fuse-ld=` knows, their option, and what packing needs. lld leaves no room in the dynamic
/// table.
const LINKERS: [(&str, &str, &[&str]); 3] = [
    ("bfd", "-z,pack-relative-relocs", &[]),
    ("lld", "--pack-dyn-relocs=relr", &["--drop-syment"]),
    ("mold", "-z,pack-relative-relocs", &[]),
];

/// Pointers in the library; a few more come from its start-up code.
const POINTERS: usize = 4096;

/// Part of what relinking saves that packing is to save. A file only shrinks by whole pages, of which about 23 go.
const OF_RELINKING: f64 = 0.95;

#[derive(Debug, Serialize, Deserialize)]
struct Relinked {
    linker: String,
    /// Size of the library in bytes, linked without packed relocations...
    plain: u64,
    /// ... and with them.
    relinked: u64,
    /// The plain one, packed by us.
    packing: Packing,
}

/// Builds the library twice with each linker, in `directory`, and packs the plain one.
///
/// # Errors
/// When something cannot be built.
pub(super) fn measure(workshop: &Workshop, directory: &Path) -> Result<Value> {
    let source = directory.join("pointers.c");
    fs::write(&source, source_text()?)?;
    let mut all = Vec::new();
    for (linker, option, needed) in LINKERS {
        let plain = directory.join(format!("plain-{linker}.so"));
        let relinked = directory.join(format!("relinked-{linker}.so"));
        build(workshop, linker, &source, &plain, None)?;
        build(workshop, linker, &source, &relinked, Some(option))?;
        all.push(Relinked {
            linker: linker.to_owned(),
            plain: fs::metadata(&plain)?.len(),
            relinked: fs::metadata(&relinked)?.len(),
            packing: pack(workshop, needed, &plain, &directory.join("packed"))?,
        });
    }
    Ok(serde_json::to_value(all)?)
}

/// A table of words, as programs have it: each pointer leads to a text of its own.
fn source_text() -> Result<String> {
    let mut text = String::from("const char *const words[] = {\n");
    for number in 0..POINTERS {
        writeln!(text, "    \"the word of number {number}\",")?;
    }
    // One call, so that it needs a library, as all but loaders do.
    text.push_str("};\nint puts(const char *);\nint say(int number) { return puts(words[number]); }\n");
    Ok(text)
}

fn build(workshop: &Workshop, linker: &str, source: &Path, library: &Path, option: Option<&str>) -> Result<()> {
    let mut command: Vec<String> = ["cc", "-O2", "-fPIC", "-shared"].map(str::to_owned).into();
    command.push(format!("-fuse-ld={linker}"));
    command.extend(option.map(|option| format!("-Wl,{option}")));
    command.extend(["-o".to_owned(), text(library), text(source)]);
    let said = workshop.runner.said(&command)?;
    if !said.status.success() {
        bail!("{linker} does not link with {option:?}: {}", said.stderr.trim());
    }
    Ok(())
}

/// Of each linker what relinking and what packing saves.
///
/// # Errors
/// When the part is of another form.
pub(super) fn figures(part: &Value) -> Result<Vec<Figure>> {
    let all = Vec::<Relinked>::deserialize(part).context("`relinked` holds no sizes")?;
    let figures = all.iter().flat_map(|one| {
        let relinking = one.plain as f64 - one.relinked as f64;
        let packing = one.packing.size.map_or(0.0, |size| one.plain as f64 - size as f64);
        let name = format!("{POINTERS} pointers by {}", one.linker);
        [
            Figure::new(
                format!("{name}: smaller by, linked anew"),
                Unit::ExactMegabytes,
                Asked::Nothing,
                Some(relinking),
            ),
            Figure::new(
                format!("{name}: saved by packing / by linking anew"),
                Unit::Times,
                Asked::AtLeast(OF_RELINKING),
                Some(packing / relinking),
            ),
        ]
    });
    Ok(figures.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn packing_is_judged_by_what_relinking_saves() {
        let packing = |size: Option<u64>| json!({"seconds": 0.1, "size": size, "end": "exit status: 0"});
        let one = |size| json!({"linker": "bfd", "plain": 290_080, "relinked": 195_944, "packing": packing(size)});
        let figures = figures(&json!([one(Some(197_920)), one(None)])).unwrap();
        let verdicts: Vec<_> = figures.iter().map(Figure::is_met).collect();
        assert_eq!(verdicts, [None, Some(true), None, Some(false)]);
    }

    #[test]
    fn the_library_has_a_pointer_a_line() {
        assert_eq!(source_text().unwrap().lines().count(), POINTERS + 4);
    }
}
