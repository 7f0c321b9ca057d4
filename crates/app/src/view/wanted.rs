//! The requested outputs, all checked before anything is read or written.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use coldstart_output::OutputTarget;
use coldstart_profile::printable;

use super::tables::{self, TableFile, of_one_trace_only};
use super::{Content, FileKind, ViewOptions, ViewerFormat};
use crate::error::{AppError, HintExt};
use crate::writing::try_out;

/// The requested outputs.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Output files; `-` is stdout.
    pub outputs: Vec<PathBuf>,
    /// Whether to replace files other than earlier outputs.
    pub force: bool,
    /// The kind of the files, overriding their extensions.
    pub kind: Option<FileKind>,
    /// The viewer for JSON.
    pub format: Option<ViewerFormat>,
    /// The only table to write.
    pub table: Option<String>,
    /// Whether to show the page in a browser.
    pub open: bool,
    /// Whether to show the start as text.
    pub terminal: bool,
    /// Whether to report the written files as JSON.
    pub json: bool,
}

/// Where a file goes.
#[derive(Clone, Debug)]
pub enum Destination {
    /// To stdout.
    Stdout,
    /// To a file, by the rule for outputs.
    File(OutputTarget),
}

impl Destination {
    /// The target; `None` for stdout.
    pub fn place(&self) -> Option<&OutputTarget> {
        match self {
            Self::Stdout => None,
            Self::File(place) => Some(place),
        }
    }

    /// The path as given; `None` for stdout.
    pub fn path(&self) -> Option<&Path> {
        self.place().map(OutputTarget::path)
    }
}

/// A file to write.
#[derive(Clone, Debug)]
pub struct WantedFile {
    /// Its kind.
    pub kind: FileKind,
    /// The given output; with several tables, the base of their names.
    pub destination: Destination,
    /// Tables in separate files.
    tables: Vec<TableFile>,
}

impl WantedFile {
    /// The contents with their destinations.
    pub fn contents<'a>(&'a self, asked: &'a Asked) -> Vec<(Content<'a>, Destination)> {
        let content = match (self.kind, &asked.table) {
            (FileKind::Html, _) => Content::Html,
            (FileKind::Svg, _) => Content::Svg,
            (FileKind::Png, _) => Content::Png,
            (FileKind::Json, _) => Content::Json(asked.format.unwrap_or(ViewerFormat::Perfetto)),
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

    /// The targets of the written files.
    fn places(&self) -> impl Iterator<Item = &OutputTarget> {
        let itself = self.tables.is_empty().then(|| self.destination.place()).flatten();
        itself.into_iter().chain(self.tables.iter().map(|table| &table.place))
    }
}

/// The checked outputs.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The files, in the order in which they were named.
    pub files: Vec<WantedFile>,
    opens: bool,
}

impl Wanted {
    /// Checks the request.
    ///
    /// # Errors
    /// If the kind of a file is unknown, options conflict, or an output cannot be written.
    pub fn of(asked: &Asked, options: &ViewOptions) -> Result<Self, AppError> {
        let inputs = options.inputs();
        let mut files: Vec<WantedFile> = Vec::new();
        for path in &asked.outputs {
            let kind = kind(path, asked.kind)?;
            check_table(kind, asked, options)?;
            let destination = if path.as_os_str() == "-" {
                check_stdout(asked, kind)?;
                Destination::Stdout
            } else {
                let is_other = path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir());
                let place = OutputTarget::new(path, kind.output_kind(), asked.force);
                let place = place.map(|place| place.not_over(inputs.clone()));
                // The base name of several tables is not written itself.
                let checked = place.and_then(|place| match (kind, &asked.table) {
                    (FileKind::Csv, None) => Ok(place),
                    _ => place.check().map(|()| place),
                });
                let place = if is_other { checked.hint(|| "`-o -` with --as writes to stdout")? } else { checked? };
                Destination::File(place)
            };
            let tables = match (kind, &asked.table, destination.place()) {
                (FileKind::Csv, None, Some(place)) => tables::files(place, options.other.is_some())?,
                _ => Vec::new(),
            };
            files.push(WantedFile { kind, destination, tables });
        }
        check_leftovers(asked, options, &files)?;
        if files.iter().filter(|file| file.destination.place().is_none()).count() > 1 {
            return Err(anyhow!("`-` is given twice as output")).hint(|| "give each output once");
        }
        try_out(files.iter().flat_map(WantedFile::places))?;
        Ok(Self { files, opens: asked.open })
    }

    /// Whether no output was requested.
    pub fn is_nothing(&self) -> bool {
        self.files.is_empty() && !self.opens
    }
}

fn kind(path: &Path, told: Option<FileKind>) -> Result<FileKind, AppError> {
    if let Some(kind) = told {
        return Ok(kind);
    }
    if path.as_os_str() == "-" {
        return Err(anyhow!("unknown format for stdout")).hint(|| "add --as html, svg, png, json or csv");
    }
    FileKind::of_path(path)
        .ok_or_else(|| anyhow!("unknown extension of `{}`", printable(path)))
        .hint(|| "known extensions: .html, .svg, .png, .json and .csv; or use --as")
}

fn check_table(kind: FileKind, asked: &Asked, options: &ViewOptions) -> Result<(), AppError> {
    if let (FileKind::Csv, Some(name)) = (kind, &asked.table) {
        tables::check(name, options.other.is_some())?;
    }
    Ok(())
}

fn check_stdout(asked: &Asked, kind: FileKind) -> Result<(), AppError> {
    if asked.json || asked.terminal || asked.open {
        return Err(anyhow!("stdout cannot take both the file and the output of --json, --terminal or --open"))
            .hint(|| "write the file elsewhere with -o OUT");
    }
    if kind == FileKind::Csv && asked.table.is_none() {
        return Err(anyhow!("stdout can take only one table"))
            .hint(|| "select one with --table; `--table list` lists them");
    }
    Ok(())
}

/// `--table list` only prints names.
///
/// # Errors
/// If another output is requested.
pub fn check_list(asked: &Asked, options: &ViewOptions) -> Result<(), AppError> {
    for (is_given, what) in [
        (!asked.outputs.is_empty(), "-o"),
        (asked.open, "--open"),
        (asked.terminal, "--terminal"),
        (asked.json, "--json"),
        (asked.format.is_some(), "--format"),
        (options.object.is_some(), "--object"),
        (options.theme.is_some(), "--theme"),
        (options.size.is_some(), "--size"),
    ] {
        if is_given {
            return Err(anyhow!("`--table list` cannot be used with {what}")).hint(|| "use one of the two");
        }
    }
    Ok(())
}

/// Refuses options without effect.
fn check_leftovers(asked: &Asked, options: &ViewOptions, files: &[WantedFile]) -> Result<(), AppError> {
    let has = |kinds: &[FileKind]| files.iter().any(|file| kinds.contains(&file.kind));
    let pictures = has(&[FileKind::Svg, FileKind::Png]);
    let text = asked.terminal || (files.is_empty() && !asked.open);
    for (is_given, is_used, what, hint) in [
        (asked.format.is_some(), has(&[FileKind::Json]), "--format", "it applies to -o OUT.json"),
        (asked.table.is_some(), has(&[FileKind::Csv]), "--table", "it applies to -o OUT.csv"),
        (options.theme.is_some(), pictures, "--theme", "it applies to -o OUT.svg and OUT.png; a page has both"),
        (options.size.is_some(), pictures, "--size", "it applies to -o OUT.svg and OUT.png"),
        (
            options.object.is_some(),
            pictures || text,
            "--object",
            "it applies to pictures and --terminal; a page has all objects",
        ),
        (asked.json, !files.is_empty() || asked.open, "--json", "it reports what was written: add -o OUT or --open"),
    ] {
        if is_given && !is_used {
            return Err(anyhow!("{what} has no effect here")).hint(|| hint);
        }
    }
    if text && options.other.is_some() {
        return of_one_trace_only("a view in the terminal", "compare them in a page with -o OUT.html or --open");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(asked: Asked, options: &ViewOptions) -> String {
        Wanted::of(&asked, options).unwrap_err().sentence()
    }

    #[test]
    fn what_does_not_go_together_is_refused_before_anything_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let to = |name: &str| vec![directory.path().join(name)];
        let one = ViewOptions { trace: directory.path().join("a.coldtrace"), ..ViewOptions::default() };
        let two = ViewOptions { other: Some(directory.path().join("b.coldtrace")), ..one.clone() };
        let table = |name: &str| Some(name.to_owned());
        for (asked, options, words) in [
            (Asked { outputs: vec!["-".into()], ..Asked::default() }, &one, "unknown format for stdout"),
            (Asked { outputs: to("x.odd"), ..Asked::default() }, &one, "unknown extension"),
            (Asked { outputs: to("x.csv"), table: table("nothing"), ..Asked::default() }, &one, "no table"),
            (
                Asked { outputs: to("x.svg"), table: table("touches"), ..Asked::default() },
                &one,
                "--table has no effect",
            ),
            (Asked { outputs: [to("x.svg"), to("x.svg")].concat(), ..Asked::default() }, &one, "given twice"),
            (Asked { json: true, ..Asked::default() }, &one, "--json has no effect"),
            (Asked { terminal: true, ..Asked::default() }, &two, "takes one trace"),
        ] {
            let sentence = refused(asked, options);
            assert!(sentence.contains(words), "{sentence}");
        }
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn all_tables_of_a_trace_have_a_file_each() {
        let directory = tempfile::tempdir().unwrap();
        let options = ViewOptions { trace: directory.path().join("a.coldtrace"), ..ViewOptions::default() };
        let asked = Asked { outputs: vec![directory.path().join("x.csv")], ..Asked::default() };
        let wanted = Wanted::of(&asked, &options).unwrap();
        let contents = wanted.files[0].contents(&asked);
        assert_eq!(contents.len(), tables::names(false).len());
        assert!(
            contents.iter().all(|(_, place)| place.path().is_some_and(|path| path.to_string_lossy().contains("x-")))
        );
        assert!(!wanted.is_nothing());
    }
}
