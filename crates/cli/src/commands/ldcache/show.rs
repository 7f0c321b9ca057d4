//! `coldstart ldcache show`: what a cache holds.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_loader::cache::{CacheEntry, CacheFormat, EntryHwcap, LdSoCache};
use coldstart_profile::pattern::fits;
use serde::Serialize;

use super::{SCHEMA, path, read_cache, read_file, shown};
use crate::args::ldcache::ShowArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::{JsonPath, fitted, printable};
use crate::output::table::{Align, Table};
use crate::output::text::{cut, plain};
use crate::output::{self, json};

/// Columns of a name; longer ones lose their middle.
const NAME_COLUMNS: usize = 40;

#[derive(Serialize)]
struct Shown {
    action: &'static str,
    #[serde(flatten)]
    file: JsonPath,
    format: &'static str,
    byte_order: &'static str,
    generator: Option<String>,
    hwcaps: Vec<String>,
    /// Number of entries, those that were not asked for included.
    entry_count: usize,
    entries: Vec<ShownEntry>,
}

#[derive(Serialize)]
struct ShownEntry {
    name: String,
    #[serde(flatten)]
    path: JsonPath,
    flags: u32,
    /// In the words of `ldconfig -p`.
    kind: String,
    hwcap: Option<ShownHwcap>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ShownHwcap {
    Level { level: Option<String>, number: u32, isa_level: u32 },
    Bits { bits: String },
}

pub(super) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    if args.ldconfig {
        return as_ldconfig(args);
    }
    let cache = read_cache(&args.file)?;
    let wanted = |entry: &CacheEntry<'_>| args.name.as_ref().is_none_or(|name| fits(name.as_bytes(), entry.name));
    let entries: Vec<CacheEntry<'_>> = cache.entries().filter(wanted).collect();
    if args.json {
        json::print(SCHEMA, &to_json(&args.file, &cache, &entries))?;
    } else {
        output::print(&to_text(&args.file, &cache, &entries))?;
    }
    Ok(if entries.is_empty() && args.name.is_some() { Exit::No } else { Exit::Done })
}

/// Prints what `ldconfig -p` prints: nothing for an empty file.
fn as_ldconfig(args: &ShowArgs) -> Result<Exit, CliError> {
    if read_file(&args.file)?.is_empty() {
        return Ok(Exit::Done);
    }
    let text = read_cache(&args.file)?.describe_all(args.file.as_os_str().as_bytes());
    // As they are: who asks for `ldconfig`'s words compares them.
    output::print_bytes(&text)?;
    Ok(Exit::Done)
}

fn to_text(file: &Path, cache: &LdSoCache, entries: &[CacheEntry<'_>]) -> String {
    let mut table = Table::new(&[("name", Align::Left), ("for", Align::Left), ("path", Align::Left)]);
    for entry in entries {
        let name = cut(&shown(entry.name), NAME_COLUMNS);
        table.row(vec![name, shown(&cache.describe_kind(entry)), String::new()]);
    }
    table.fit_last_column(|row, room| entries.get(row).map(|entry| fitted(path(entry.path), room)).unwrap_or_default());
    let count = cache.entries().len();
    let shown_of = if entries.len() == count { String::new() } else { format!("{} of ", entries.len()) };
    let generator = cache.generator().map(|text| format!(", by {}", shown(text))).unwrap_or_default();
    let format = format_name(cache.format());
    let order = byte_order(cache);
    let noun = if count == 1 { "entry" } else { "entries" };
    let heading = format!("{}: {shown_of}{count} {noun}, {format}, {order}-endian{generator}\n", printable(file));
    let rest = if entries.is_empty() { String::new() } else { format!("\n{}", table.render()) };
    plain(&format!("{heading}{rest}"))
}

fn to_json(file: &Path, cache: &LdSoCache, entries: &[CacheEntry<'_>]) -> Shown {
    let entry = |entry: &CacheEntry<'_>| ShownEntry {
        name: shown(entry.name),
        path: JsonPath::new(path(entry.path)),
        flags: entry.flags,
        kind: shown(&cache.describe_kind(entry)),
        hwcap: match entry.required() {
            EntryHwcap::Any => None,
            EntryHwcap::Level { index, isa_level } => {
                Some(ShownHwcap::Level { level: cache.level_name(entry).map(shown), number: index, isa_level })
            }
            EntryHwcap::Bits(bits) => Some(ShownHwcap::Bits { bits: format!("{bits:#018x}") }),
        },
    };
    Shown {
        action: "show",
        file: JsonPath::new(file),
        format: format_name(cache.format()),
        byte_order: byte_order(cache),
        generator: cache.generator().map(shown),
        hwcaps: cache.hwcaps().map(shown).collect(),
        entry_count: cache.entries().len(),
        entries: entries.iter().map(entry).collect(),
    }
}

fn format_name(format: CacheFormat) -> &'static str {
    match format {
        CacheFormat::New => "new format",
        CacheFormat::NewAfterOld => "new format behind the old one",
        CacheFormat::Old => "old format",
    }
}

fn byte_order(cache: &LdSoCache) -> &'static str {
    if cache.big_endian() { "big" } else { "little" }
}
