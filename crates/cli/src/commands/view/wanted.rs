//! What is asked for, checked before anything is done.

use std::path::Path;

use anyhow::anyhow;

use super::of_one_trace_only;
use super::tables::{self, TableFile};
use crate::args::view::{OutputKind, ViewArgs};
use crate::error::{CliError, HintExt};
use crate::output::destination::Destination;
use crate::output::path::printable;

/// A file to be written.
pub(super) struct WantedFile {
    pub(super) kind: OutputKind,
    /// What was asked for: of several tables, the name that theirs are made of.
    pub(super) destination: Destination,
    /// Tables in files of their own.
    pub(super) tables: Vec<TableFile>,
}

impl WantedFile {
    /// What is written.
    fn destinations(&self) -> impl Iterator<Item = &Destination> {
        let itself = self.tables.is_empty().then_some(&self.destination);
        itself.into_iter().chain(self.tables.iter().map(|table| &table.destination))
    }
}

/// All that is asked for.
pub(super) struct Wanted {
    pub(super) files: Vec<WantedFile>,
    opens: bool,
    compares: bool,
}

impl Wanted {
    /// Of the arguments.
    ///
    /// # Errors
    /// When the kind of a file is not told, or what is asked for does not go together or cannot be written where it is asked for.
    pub(super) fn of(args: &ViewArgs) -> Result<Self, CliError> {
        let traces: Vec<&Path> = std::iter::once(args.trace.as_path()).chain(args.other.as_deref()).collect();
        let mut files: Vec<WantedFile> = Vec::new();
        for path in &args.output {
            let kind = kind(path, args.kind)?;
            check_options(kind, args)?;
            let destination = if path.as_os_str() == "-" {
                check_stdout(args, kind)?;
                Destination::Stdout
            } else {
                let is_other = path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir());
                let destination = Destination::file(path, &traces);
                if is_other { destination.hint(|| "`-o -` with --as writes to stdout")? } else { destination? }
            };
            let tables = match (kind, &args.table) {
                (OutputKind::Csv, None) => tables::files(&destination, args.other.is_some(), &traces)?,
                _ => Vec::new(),
            };
            files.push(WantedFile { kind, destination, tables });
        }
        check_leftovers(args, &files)?;
        let destinations: Vec<&Destination> = files.iter().flat_map(WantedFile::destinations).collect();
        check_twice(&destinations)?;
        destinations.into_iter().try_for_each(Destination::try_out)?;
        Ok(Self { files, opens: args.open, compares: args.other.is_some() })
    }

    /// Whether nothing but the trace was named.
    pub(super) fn is_nothing(&self) -> bool {
        self.files.is_empty() && !self.opens
    }

    /// Whether two traces are held against one another.
    pub(super) fn compares(&self) -> bool {
        self.compares
    }
}

fn kind(path: &Path, told: Option<OutputKind>) -> Result<OutputKind, CliError> {
    const KNOWN: [OutputKind; 5] =
        [OutputKind::Html, OutputKind::Svg, OutputKind::Png, OutputKind::Json, OutputKind::Csv];
    if let Some(kind) = told {
        return Ok(kind);
    }
    if path.as_os_str() == "-" {
        return Err(anyhow!("what is to be written to stdout is not told"))
            .hint(|| "add --as html, svg, png, json or csv");
    }
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let ending = ending.unwrap_or_default();
    let known = KNOWN.into_iter().find(|kind| kind.name() == ending || (*kind == OutputKind::Html && ending == "htm"));
    known
        .ok_or_else(|| anyhow!("what `{}` is to be cannot be told from its ending", printable(path)))
        .hint(|| "endings are .html, .svg, .png, .json and .csv; or say it with --as")
}

fn check_options(kind: OutputKind, args: &ViewArgs) -> Result<(), CliError> {
    if let (OutputKind::Csv, Some(name)) = (kind, &args.table) {
        tables::check(name, args.other.is_some())?;
    }
    Ok(())
}

fn check_stdout(args: &ViewArgs, kind: OutputKind) -> Result<(), CliError> {
    if args.json || args.terminal || args.open {
        return Err(anyhow!("stdout cannot hold both the file and what --json, --terminal or --open print"))
            .hint(|| "write the file to a place of its own: -o OUT");
    }
    if kind == OutputKind::Csv && args.table.is_none() {
        return Err(anyhow!("stdout can hold one table, and there are several"))
            .hint(|| "name one with --table; `--table list` lists them");
    }
    Ok(())
}

/// Names that one file would be written under after the other.
fn check_twice(destinations: &[&Destination]) -> Result<(), CliError> {
    for (number, destination) in destinations.iter().enumerate() {
        if destinations.iter().take(number).any(|other| other.is_same(destination)) {
            let path = printable(destination.path().unwrap_or(Path::new("-")));
            return Err(anyhow!("`{path}` is to be written twice")).hint(|| "name each file once");
        }
    }
    Ok(())
}

/// `--table list` prints names, and does nothing else.
pub(super) fn check_list(args: &ViewArgs) -> Result<(), CliError> {
    for (is_given, what) in [
        (!args.output.is_empty(), "-o"),
        (args.open, "--open"),
        (args.terminal, "--terminal"),
        (args.json, "--json"),
        (args.format.is_some(), "--format"),
        (args.object.is_some(), "--object"),
        (args.theme.is_some(), "--theme"),
        (args.size.is_some(), "--size"),
    ] {
        if is_given {
            return Err(anyhow!("`--table list` prints the tables' names, and cannot be used with {what}"))
                .hint(|| "take one of the two");
        }
    }
    Ok(())
}

/// Options that nothing would follow.
fn check_leftovers(args: &ViewArgs, files: &[WantedFile]) -> Result<(), CliError> {
    let has = |kinds: &[OutputKind]| files.iter().any(|file| kinds.contains(&file.kind));
    let pictures = has(&[OutputKind::Svg, OutputKind::Png]);
    let text = args.terminal || (files.is_empty() && !args.open);
    for (is_given, is_used, what, hint) in [
        (args.format.is_some(), has(&[OutputKind::Json]), "--format", "it is for -o OUT.json"),
        (args.table.is_some(), has(&[OutputKind::Csv]), "--table", "it is for -o OUT.csv"),
        (args.theme.is_some(), pictures, "--theme", "it is for -o OUT.svg and OUT.png; a page has both"),
        (args.size.is_some(), pictures, "--size", "it is for -o OUT.svg and OUT.png"),
        (
            args.object.is_some(),
            pictures || text,
            "--object",
            "it is for pictures and --terminal; a page has all objects",
        ),
        (args.json, !files.is_empty() || args.open, "--json", "it tells what was written: add -o OUT or --open"),
    ] {
        if is_given && !is_used {
            return Err(anyhow!("{what} has nothing to act on")).hint(|| hint);
        }
    }
    if text && args.other.is_some() {
        return of_one_trace_only("a view in the terminal", "compare them in a page: -o OUT.html or --open");
    }
    Ok(())
}
