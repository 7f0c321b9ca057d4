//! What is asked for, checked before anything is done.

use std::path::Path;

use anyhow::anyhow;
use coldstart_app::view::tables::{self, TableFile, of_one_trace_only};
use coldstart_app::view::{Content, FileKind, ViewOptions, ViewerFormat};
use coldstart_app::writing::try_out;
use coldstart_output::OutputTarget;

use crate::args::view::ViewArgs;
use crate::error::{CliError, HintExt};
use crate::output::destination::Destination;
use crate::output::path::printable;

/// A file to be written.
pub(super) struct WantedFile {
    pub(super) kind: FileKind,
    /// What was asked for: of several tables, the name that theirs are made of.
    pub(super) destination: Destination,
    /// Tables in files of their own.
    pub(super) tables: Vec<TableFile>,
}

impl WantedFile {
    /// What is written, and where.
    pub(super) fn contents<'a>(&'a self, args: &'a ViewArgs) -> Vec<(Content<'a>, Destination)> {
        let content = match (self.kind, &args.table) {
            (FileKind::Html, _) => Content::Html,
            (FileKind::Svg, _) => Content::Svg,
            (FileKind::Png, _) => Content::Png,
            (FileKind::Json, _) => Content::Json(args.format.map_or(ViewerFormat::Perfetto, Into::into)),
            (FileKind::Csv, Some(name)) => Content::Table { name, of_other: false },
            (FileKind::Csv, None) => {
                let table = |table: &'a TableFile| {
                    let content = Content::Table { name: table.name, of_other: table.of_other };
                    (content, Destination::File(table.place.clone()))
                };
                return self.tables.iter().map(table).collect();
            }
        };
        vec![(content, self.destination.clone())]
    }

    /// The places of the files that are written.
    fn places(&self) -> impl Iterator<Item = &OutputTarget> {
        let itself = self.tables.is_empty().then(|| self.destination.place()).flatten();
        itself.into_iter().chain(self.tables.iter().map(|table| &table.place))
    }
}

/// All that is asked for.
pub(super) struct Wanted {
    pub(super) files: Vec<WantedFile>,
    opens: bool,
}

impl Wanted {
    /// Of the arguments.
    ///
    /// # Errors
    /// When the kind of a file is not told, or what is asked for does not go together or cannot be written where it is asked for.
    pub(super) fn of(args: &ViewArgs, options: &ViewOptions) -> Result<Self, CliError> {
        let inputs = options.inputs();
        let mut files: Vec<WantedFile> = Vec::new();
        for path in &args.output {
            let kind = kind(path, args.kind.map(Into::into))?;
            check_options(kind, args)?;
            let destination = if path.as_os_str() == "-" {
                check_stdout(args, kind)?;
                Destination::Stdout
            } else {
                let is_other = path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir());
                let place = OutputTarget::new(path, kind.output_kind(), args.force.force);
                let place = place.map(|place| place.not_over(inputs.clone()));
                // What stands for several tables is not written itself.
                let checked = place.and_then(|place| match (kind, &args.table) {
                    (FileKind::Csv, None) => Ok(place),
                    _ => place.check().map(|()| place),
                });
                let place = if is_other { checked.hint(|| "`-o -` with --as writes to stdout")? } else { checked? };
                Destination::File(place)
            };
            let tables = match (kind, &args.table, destination.place()) {
                (FileKind::Csv, None, Some(place)) => tables::files(place, args.other.is_some())?,
                _ => Vec::new(),
            };
            files.push(WantedFile { kind, destination, tables });
        }
        check_leftovers(args, &files)?;
        if files.iter().filter(|file| file.destination.place().is_none()).count() > 1 {
            return Err(anyhow!("`-` is to be written twice")).hint(|| "name each file once");
        }
        try_out(files.iter().flat_map(WantedFile::places))?;
        Ok(Self { files, opens: args.open })
    }

    /// Whether nothing but the trace was named.
    pub(super) fn is_nothing(&self) -> bool {
        self.files.is_empty() && !self.opens
    }
}

fn kind(path: &Path, told: Option<FileKind>) -> Result<FileKind, CliError> {
    if let Some(kind) = told {
        return Ok(kind);
    }
    if path.as_os_str() == "-" {
        return Err(anyhow!("what is to be written to stdout is not told"))
            .hint(|| "add --as html, svg, png, json or csv");
    }
    FileKind::of_path(path)
        .ok_or_else(|| anyhow!("what `{}` is to be cannot be told from its ending", printable(path)))
        .hint(|| "endings are .html, .svg, .png, .json and .csv; or say it with --as")
}

fn check_options(kind: FileKind, args: &ViewArgs) -> Result<(), CliError> {
    if let (FileKind::Csv, Some(name)) = (kind, &args.table) {
        tables::check(name, args.other.is_some())?;
    }
    Ok(())
}

fn check_stdout(args: &ViewArgs, kind: FileKind) -> Result<(), CliError> {
    if args.json || args.terminal || args.open {
        return Err(anyhow!("stdout cannot hold both the file and what --json, --terminal or --open print"))
            .hint(|| "write the file to a place of its own: -o OUT");
    }
    if kind == FileKind::Csv && args.table.is_none() {
        return Err(anyhow!("stdout can hold one table, and there are several"))
            .hint(|| "name one with --table; `--table list` lists them");
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
    let has = |kinds: &[FileKind]| files.iter().any(|file| kinds.contains(&file.kind));
    let pictures = has(&[FileKind::Svg, FileKind::Png]);
    let text = args.terminal || (files.is_empty() && !args.open);
    for (is_given, is_used, what, hint) in [
        (args.format.is_some(), has(&[FileKind::Json]), "--format", "it is for -o OUT.json"),
        (args.table.is_some(), has(&[FileKind::Csv]), "--table", "it is for -o OUT.csv"),
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
