//! `view`: one or two traces as a page, a picture, another viewer's file, or tables.
//!
//! [`View::read`] reads the traces; [`View::write_file`] writes one output file, [`serve::Served`] shows the page in a browser.
//! Not obvious: each output file is a separate call, because a front end reports each one.

mod differences;
mod picture;
pub mod serve;
mod source;
pub mod tables;
mod wanted;

use std::cell::OnceCell;
use std::io::Write;
use std::path::{Path, PathBuf};

use coldstart_launch::Interrupt;
use coldstart_output::{Inputs, OutputKind, OutputTarget};
use coldstart_profile::{JsonPath, printable};
use coldstart_view::comparison::Comparison;
use coldstart_view::export::{self, TraceExport};
use coldstart_view::map::Theme;
use coldstart_view::page::trace_page;
use serde::Serialize;

use crate::error::AppError;
use crate::kinds;
use crate::writing::fill_file;

pub use picture::Picture;
pub use source::Source;
pub use wanted::{Asked, Destination, Wanted, WantedFile, check_list};

/// The traces, and options for pictures.
#[derive(Clone, Debug, Default)]
pub struct ViewOptions {
    /// The trace.
    pub trace: PathBuf,
    /// Another trace of the same program to compare with.
    pub other: Option<PathBuf>,
    /// The object of the map, by file name, path, soname or pattern; by default the one with the most touches.
    pub object: Option<String>,
    /// Colours of pictures; light by default.
    pub theme: Option<Theme>,
    /// Width and height of pictures, in pixels.
    pub size: Option<(u32, u32)>,
}

impl ViewOptions {
    /// The input files, which no output may replace.
    pub fn inputs(&self) -> Inputs {
        let traces = std::iter::once(&self.trace).chain(&self.other);
        traces.fold(Inputs::default(), |inputs, trace| {
            inputs.with(format!("the viewed trace `{}`", printable(trace)), trace)
        })
    }
}

/// A kind of output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An interactive page.
    Html,
    /// The map of an object as a vector image.
    Svg,
    /// The map of an object as a raster image.
    Png,
    /// For another viewer.
    Json,
    /// CSV tables.
    Csv,
}

impl FileKind {
    const ALL: [Self; 5] = [Self::Html, Self::Svg, Self::Png, Self::Json, Self::Csv];

    /// The file name extension without the dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Json => "json",
            Self::Csv => "csv",
        }
    }

    /// By the file name extension; `None` if unknown.
    pub fn of_path(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_string_lossy().to_ascii_lowercase();
        Self::ALL.into_iter().find(|kind| kind.name() == ending || (*kind == Self::Html && ending == "htm"))
    }

    /// The kind of existing file that may be replaced.
    pub fn output_kind(self) -> OutputKind {
        match self {
            Self::Html => kinds::PAGE,
            Self::Svg => kinds::SVG,
            Self::Png => kinds::PNG,
            Self::Json => kinds::VIEWER_JSON,
            Self::Csv => kinds::CSV,
        }
    }

    /// Whether it shows the map of an object.
    pub fn is_picture(self) -> bool {
        matches!(self, Self::Svg | Self::Png)
    }
}

/// Another viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewerFormat {
    /// Trace Event Format: ui.perfetto.dev, chrome://tracing and others.
    Perfetto,
    /// Processed profile: profiler.firefox.com.
    Firefox,
}

impl ViewerFormat {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto",
            Self::Firefox => "firefox",
        }
    }
}

/// The content of an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// The interactive page.
    Html,
    /// The map of an object as a vector image.
    Svg,
    /// The map of an object as a raster image.
    Png,
    /// A file for another viewer.
    Json(ViewerFormat),
    /// A table (see [`tables::names`]).
    Table {
        /// Its name.
        name: &'a str,
        /// Whether a single-trace table is of the second trace.
        of_other: bool,
    },
}

impl Content<'_> {
    /// The kind of file for it.
    pub fn kind(&self) -> FileKind {
        match self {
            Self::Html => FileKind::Html,
            Self::Svg => FileKind::Svg,
            Self::Png => FileKind::Png,
            Self::Json(_) => FileKind::Json,
            Self::Table { .. } => FileKind::Csv,
        }
    }
}

/// A written file.
#[derive(Clone, Debug, Serialize)]
pub struct Written {
    /// `None` for stdout.
    #[serde(flatten)]
    pub path: Option<JsonPath>,
    /// The name of its [`FileKind`].
    pub kind: &'static str,
    /// For JSON: the name of the viewer's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<&'static str>,
    /// The name of the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// For JSON the number of records, for tables of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
}

/// The result of `view`.
#[derive(Clone, Debug, Serialize)]
pub struct ViewOutcome {
    /// The traces.
    pub traces: Vec<JsonPath>,
    /// The files, in the order of writing.
    pub written: Vec<Written>,
    /// The object of the map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// For two traces: reasons against comparing them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// The URL of the served page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// The read traces.
pub struct View {
    options: ViewOptions,
    first: Source,
    second: Option<Source>,
    /// Computed on first use.
    picture: OnceCell<Picture>,
}

impl View {
    /// Reads the traces.
    ///
    /// # Errors
    /// If one of them is missing, damaged, of a later format, or not a trace.
    pub fn read(options: ViewOptions) -> Result<Self, AppError> {
        let first = Source::read(&options.trace)?;
        let second = options.other.as_deref().map(Source::read).transpose()?;
        Ok(Self { options, first, second, picture: OnceCell::new() })
    }

    /// The first trace.
    pub fn first(&self) -> &Source {
        &self.first
    }

    /// The initial outcome without written files, with the reasons against comparing two traces.
    pub fn outcome(&self) -> ViewOutcome {
        let compared = self.second.as_ref().map(|second| Comparison::of(&self.first.as_trace(), &second.as_trace()));
        ViewOutcome {
            traces: self.sources().map(|source| JsonPath::new(&source.path)).collect(),
            written: Vec::new(),
            object: None,
            caveats: compared.map(|compared| compared.caveats).unwrap_or_default(),
            address: None,
        }
    }

    /// The map of the selected object, with the touches of the other start as an overlay.
    ///
    /// # Errors
    /// If the name matches no object or several, or the other trace does not have it.
    pub fn picture(&self) -> Result<&Picture, AppError> {
        if let Some(picture) = self.picture.get() {
            return Ok(picture);
        }
        let picture = Picture::of(&self.first, self.second.as_ref(), &self.options)?;
        Ok(self.picture.get_or_init(|| picture))
    }

    /// The interactive page.
    ///
    /// # Errors
    /// If it cannot be rendered.
    pub fn page(&self) -> Result<Vec<u8>, AppError> {
        let second = self.second.as_ref().map(Source::as_trace);
        Ok(trace_page(&self.first.as_trace(), second.as_ref())?)
    }

    /// Writes one file, completely or not at all.
    ///
    /// # Errors
    /// If it cannot be rendered or written, or `interrupt` received a signal.
    pub fn write_file(
        &self,
        content: Content<'_>,
        place: &OutputTarget,
        interrupt: Option<&Interrupt>,
    ) -> Result<Written, AppError> {
        let mut written = None;
        let bytes = fill_file(place, interrupt, |out| {
            written = Some(self.write(content, interrupt, out)?);
            Ok(())
        })?;
        let path = Some(JsonPath::new(place.path()));
        written.map(|written| Written { path, bytes, ..written }).ok_or_else(|| AppError::new("nothing was written"))
    }

    /// Writes the content of a file. Path and size of the result are left empty.
    ///
    /// # Errors
    /// If it cannot be rendered, `out` fails, or `interrupt` received a signal.
    pub fn write(
        &self,
        content: Content<'_>,
        interrupt: Option<&Interrupt>,
        out: &mut dyn Write,
    ) -> Result<Written, AppError> {
        let kind = content.kind().name();
        let mut written = Written { path: None, kind, format: None, table: None, bytes: 0, records: None };
        match content {
            Content::Html => out.write_all(&self.page()?)?,
            Content::Svg => out.write_all(self.picture()?.svg().as_bytes())?,
            Content::Png => out.write_all(&self.picture()?.png()?)?,
            Content::Json(format) => {
                let traces: Vec<TraceExport<'_>> = self.sources().map(Source::as_export).collect();
                let exported = match format {
                    ViewerFormat::Perfetto => export::write_perfetto(&traces, out),
                    ViewerFormat::Firefox => export::write_firefox(&traces, out),
                };
                written.format = Some(format.name());
                written.records = Some(exported?.records);
            }
            Content::Table { name, of_other } => {
                let source = self.second.as_ref().filter(|_| of_other).unwrap_or(&self.first);
                written.records = Some(tables::write(name, source, self.second.as_ref(), interrupt, out)?);
                written.table = Some(name.to_owned());
            }
        }
        Ok(written)
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        std::iter::once(&self.first).chain(&self.second)
    }
}

#[cfg(test)]
mod tests {
    use coldstart_profile::trace::Trace;

    use super::*;

    fn view_of(folder: &Path) -> View {
        let trace = folder.join("a.coldtrace");
        coldstart_tracefile::write_trace(&trace, &Trace::default()).unwrap();
        View::read(ViewOptions { trace, ..ViewOptions::default() }).unwrap()
    }

    #[test]
    fn a_trace_becomes_files_that_may_be_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let view = view_of(folder.path());
        for (content, name) in [
            (Content::Html, "a.html"),
            (Content::Json(ViewerFormat::Perfetto), "a.json"),
            (Content::Table { name: "touches", of_other: false }, "a.csv"),
        ] {
            let path = folder.path().join(name);
            assert_eq!(FileKind::of_path(&path), Some(content.kind()));
            for _ in 0..2 {
                let place = OutputTarget::new(&path, content.kind().output_kind(), false).unwrap();
                let written = view.write_file(content, &place, None).unwrap();
                assert_eq!(written.bytes, path.metadata().unwrap().len());
            }
        }
        let outcome = serde_json::to_value(view.outcome()).unwrap();
        assert!(outcome["traces"][0]["path"].as_str().unwrap().ends_with("a.coldtrace"), "{outcome}");
        // Nothing was touched, so there is no object whose map could be drawn.
        assert!(view.picture().is_err());
    }

    #[test]
    fn what_was_recorded_by_perf_gets_advice() {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("perf.data");
        std::fs::write(&trace, "PERFILE2 and more").unwrap();
        let error = View::read(ViewOptions { trace, ..ViewOptions::default() }).err().unwrap();
        assert!(error.hints().iter().any(|hint| hint.contains("coldstart trace import")), "{:?}", error.hints());
    }
}
