//! Arguments of `coldstart view`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use coldstart_app::view::{self, FileKind};
use coldstart_view::map::{self, MapOptions};

use super::output::ForceArgs;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ViewArgs {
    /// Output of `coldstart trace`
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Another trace of the same program, to compare with the first: changes from TRACE to OTHER
    #[arg(value_name = "OTHER")]
    pub(crate) other: Option<PathBuf>,

    /// Output; the extension selects the format: .html, .svg, .png, .json, .csv. `-` is stdout and needs --as. May be
    /// repeated
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Output format, whatever the extension
    #[arg(long = "as", value_enum, value_name = "KIND", requires = "output")]
    pub(crate) kind: Option<OutputKind>,

    /// The viewer of the JSON [default: perfetto]
    #[arg(long, value_enum, value_name = "VIEWER")]
    pub(crate) format: Option<ViewerFormat>,

    /// Write one table of comma-separated values instead of all, or `list` for their names
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,

    /// The object to draw, by file name, path or soname; `*`, `?` and `[...]` are wildcards [default: the
    /// one with the most touches]
    #[arg(long, value_name = "NAME")]
    pub(crate) object: Option<String>,

    /// Colours of pictures; pages have both [default: light]
    #[arg(long, value_enum, value_name = "THEME")]
    pub(crate) theme: Option<Theme>,

    /// Width and height of pictures, in points: a PNG has two pixels per point
    #[arg(long, value_name = "WIDTHxHEIGHT")]
    pub(crate) size: Option<Size>,

    /// Show the page in a browser: serves it on this machine only, until Ctrl-C
    #[arg(long)]
    pub(crate) open: bool,

    /// Show the start in this terminal, which is also the default without other outputs
    #[arg(long)]
    pub(crate) terminal: bool,

    /// Print one JSON object that lists the written files
    #[arg(long, conflicts_with = "terminal")]
    pub(crate) json: bool,
}

/// A file format for a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputKind {
    /// An interactive page
    Html,
    /// The map of an object as a drawing
    Svg,
    /// The map of an object as a picture
    Png,
    /// For another viewer, selected by --format
    Json,
    /// Tables of comma-separated values
    Csv,
}

impl From<OutputKind> for FileKind {
    fn from(kind: OutputKind) -> Self {
        match kind {
            OutputKind::Html => Self::Html,
            OutputKind::Svg => Self::Svg,
            OutputKind::Png => Self::Png,
            OutputKind::Json => Self::Json,
            OutputKind::Csv => Self::Csv,
        }
    }
}

/// Another viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ViewerFormat {
    /// Trace Event Format: ui.perfetto.dev, chrome://tracing and others
    Perfetto,
    /// Processed profile: profiler.firefox.com
    Firefox,
}

impl From<ViewerFormat> for view::ViewerFormat {
    fn from(format: ViewerFormat) -> Self {
        match format {
            ViewerFormat::Perfetto => Self::Perfetto,
            ViewerFormat::Firefox => Self::Firefox,
        }
    }
}

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Theme {
    /// Dark on white
    Light,
    /// Light on black
    Dark,
}

impl From<Theme> for map::Theme {
    fn from(theme: Theme) -> Self {
        match theme {
            Theme::Light => Self::Light,
            Theme::Dark => Self::Dark,
        }
    }
}

/// Points of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once(['x', 'X', '×']);
        let numbers = numbers.and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
        let (width, height): (u32, u32) = numbers.ok_or("write it as 1600x900")?;
        let (widths, heights) = (MapOptions::WIDTHS, MapOptions::HEIGHTS);
        if !(widths.0..=widths.1).contains(&width) || !(heights.0..=heights.1).contains(&height) {
            return Err(format!("from {}x{} to {}x{}", widths.0, heights.0, widths.1, heights.1));
        }
        Ok(Self { width, height })
    }
}

const HELP: &str = "\
A page needs no other file and no network; names in it are displayed but never executed. Without -o, --open or --terminal the start is \
shown in the terminal. OUT.csv becomes a file for each table, OUT-touches.csv and so on, unless --table names one.

Exit codes: 0 done; 2 wrong usage, or something broke, and then the file that was meant is not there or as it was before; 130 \
interrupted while writing.

Examples:
  coldstart view firefox.coldtrace -o firefox.html
  coldstart view before.coldtrace after.coldtrace --open
  coldstart view firefox.coldtrace -o libxul.svg -o libxul.png --object 'libxul*' --theme dark
  coldstart view firefox.coldtrace -o firefox.json --format firefox
  coldstart view firefox.coldtrace -o touches.csv --table touches";

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use super::*;
    use crate::args::{Cli, Verb};

    fn parse(words: &str) -> Result<ViewArgs, clap::Error> {
        match Cli::try_parse_from(format!("coldstart view {words}").split_whitespace())?.verb {
            Verb::View(args) => Ok(args),
            _ => Err(clap::Error::new(ErrorKind::InvalidSubcommand)),
        }
    }

    #[test]
    fn several_files_can_be_asked_for() {
        let args = parse("a b -o x.svg -o - --as png --size 1600x900").unwrap();
        assert_eq!(args.output, [PathBuf::from("x.svg"), PathBuf::from("-")]);
        assert_eq!((args.kind, args.size), (Some(OutputKind::Png), Some(Size { width: 1600, height: 900 })));
        assert!(args.other.is_some() && !args.open && !args.terminal);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (words, kind) in [
            ("", ErrorKind::MissingRequiredArgument),
            ("a --as svg", ErrorKind::MissingRequiredArgument),
            ("a -o b.html --format chrome", ErrorKind::InvalidValue),
            ("a --terminal --json", ErrorKind::ArgumentConflict),
            ("a b c", ErrorKind::UnknownArgument),
            ("a -o b.svg --size 10x10", ErrorKind::ValueValidation),
            ("a -o b.svg --size 99999x900", ErrorKind::ValueValidation),
            ("a -o b.svg --size huge", ErrorKind::ValueValidation),
        ] {
            assert_eq!(parse(words).unwrap_err().kind(), kind, "{words}");
        }
    }
}
