//! `coldstart ldcache show`: the contents of a cache.

use std::path::Path;

use coldstart_app::ldcache::{SCHEMA, ShownCache, as_ldconfig, show};

use super::{NAME_COLUMNS, shown_of};
use crate::args::ldcache::ShowArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::{fitted, printable};
use crate::output::table::{Align, Table};
use crate::output::text::{cut, plain};
use crate::output::{self, json};

pub(super) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    if args.ldconfig {
        // Unchanged, for comparison with `ldconfig`.
        output::print_bytes(&as_ldconfig(&args.file)?)?;
        return Ok(Exit::Done);
    }
    let shown = show(&args.file, args.name.as_deref())?;
    if args.json {
        json::print(SCHEMA, &shown)?;
    } else {
        output::print(&in_words(&args.file, &shown))?;
    }
    Ok(if shown.entries.is_empty() && args.name.is_some() { Exit::No } else { Exit::Done })
}

fn in_words(file: &Path, shown: &ShownCache) -> String {
    let ShownCache { entries, entry_count, format, byte_order, .. } = shown;
    let mut table = Table::new(&[("name", Align::Left), ("for", Align::Left), ("path", Align::Left)]);
    for entry in entries {
        table.row(vec![cut(&entry.name, NAME_COLUMNS), entry.kind.clone(), String::new()]);
    }
    let path = |row: usize| entries.get(row).map(|entry| entry.path.as_path());
    table.fit_last_column(|row, room| path(row).map(|path| fitted(path, room)).unwrap_or_default());
    let shown_of = shown_of(entries.len(), *entry_count);
    let noun = if *entry_count == 1 { "entry" } else { "entries" };
    let generator = shown.generator.as_ref().map(|text| format!(", by {text}")).unwrap_or_default();
    let file = printable(file);
    let heading = format!("{file}: {shown_of}{entry_count} {noun}, {format}, {byte_order}-endian{generator}\n");
    let rest = if entries.is_empty() { String::new() } else { format!("\n{}", table.render()) };
    plain(&format!("{heading}{rest}"))
}
