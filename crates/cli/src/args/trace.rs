//! Arguments of `coldstart trace`.
//!
//! A program is recorded unless the first word is one of the verbs below `trace`; after `--`, every word is a program.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use coldstart_profile::trace::Layer;

use super::launching::{ProgramArgs, WaitingArgs};
use super::output::ForceArgs;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = RECORD_HELP)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) action: Option<TraceAction>,

    #[command(flatten)]
    pub(crate) record: RecordArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceAction {
    /// Show a trace: phases, objects, sections, jumps, files, processes
    #[command(after_help = SHOW_HELP)]
    Show(ShowArgs),
    /// Query a trace in SQL
    #[command(after_help = SQL_HELP)]
    Sql(SqlArgs),
    /// Convert a recording of `perf record`, or a fleet table, to a trace
    #[command(after_help = IMPORT_HELP)]
    Import(ImportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Where to write the trace [default: the program's name with .coldtrace, in the working directory]
    #[arg(long, short, value_name = "FILE.coldtrace")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// What to record
    #[arg(
        long,
        value_enum,
        value_name = "LAYER",
        value_delimiter = ',',
        default_values = ["phases", "pages", "files"]
    )]
    layers: Vec<LayerChoice>,

    /// Record functions, only of objects with this file name, path or soname; `*`, `?` and `[...]` are wildcards.
    /// May be repeated
    #[arg(long, value_name = "OBJECT")]
    pub(crate) functions_of: Vec<String>,

    /// Record functions, and watch all of them instead of those in code that a first start used
    #[arg(long)]
    pub(crate) all_functions: bool,

    /// Drop the caches before the start
    #[arg(long)]
    pub(crate) cold: bool,

    /// Regular file as the program's standard input [default: ours]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,

    /// Discard the program's own output [default: to ours]
    #[arg(long)]
    pub(crate) hide_output: bool,

    /// Print one JSON object instead of a summary, and discard the program's own output
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) waiting: WaitingArgs,

    #[command(flatten)]
    pub(crate) program: ProgramArgs,
}

impl RecordArgs {
    /// The layers, each once, in order. --functions-of implies functions; functions are watched in pages that
    /// were touched, and their times need stages.
    pub(crate) fn layers(&self) -> Vec<Layer> {
        let is_named = |layer: Layer| self.layers.iter().any(|choice| choice.layer() == layer);
        let wants_functions = self.all_functions || !self.functions_of.is_empty() || is_named(Layer::Functions);
        let is_wanted = |layer: &Layer| {
            is_named(*layer) || (wants_functions && matches!(layer, Layer::Functions | Layer::Pages | Layer::Phases))
        };
        Layer::ALL.into_iter().filter(is_wanted).collect()
    }
}

/// A kind of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LayerChoice {
    /// Stages of the loader, initialisers, main, ready
    Phases,
    /// First touches of file pages
    Pages,
    /// First calls of functions
    Functions,
    /// Names looked up, reads, disk I/O
    Files,
}

impl LayerChoice {
    fn layer(self) -> Layer {
        match self {
            Self::Phases => Layer::Phases,
            Self::Pages => Layer::Pages,
            Self::Functions => Layer::Functions,
            Self::Files => Layer::Files,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) parts: PartsArgs,

    /// Only objects and files with this file name, path or soname; `*`, `?` and `[...]` are wildcards. May be
    /// repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) object: Vec<String>,

    /// List at most this many rows of each table, 0 for all [default: 10, with --json all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Print one JSON object with all parts instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parts of the output. None given: all, in short.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct PartsArgs {
    /// Only: the time of each process
    #[arg(long)]
    pub(crate) phases: bool,

    /// Only: the cost of each object
    #[arg(long)]
    pub(crate) objects: bool,

    /// Only: the touched share of each section
    #[arg(long)]
    pub(crate) sections: bool,

    /// Only: the distance in files between consecutive touches and functions
    #[arg(long)]
    pub(crate) seeks: bool,

    /// Only: for each file, bytes read, touched, fetched from the disk, and wasted
    #[arg(long)]
    pub(crate) files: bool,

    /// Only: the order of initialisers, and the longest
    #[arg(long)]
    pub(crate) initialisers: bool,

    /// Only: each process
    #[arg(long)]
    pub(crate) processes: bool,

    /// Only: names that do not exist
    #[arg(long)]
    pub(crate) lookups: bool,
}

impl PartsArgs {
    /// Whether any was given.
    pub(crate) fn any(&self) -> bool {
        self.phases
            || self.objects
            || self.sections
            || self.seeks
            || self.files
            || self.initialisers
            || self.processes
            || self.lookups
    }
}

#[derive(Debug, Args)]
pub(crate) struct SqlArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// One SELECT statement
    #[arg(value_name = "SELECT")]
    pub(crate) question: String,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Print comma-separated values instead of a table
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Output of `perf record`, or a fleet table
    #[arg(value_name = "PERF.DATA")]
    pub(crate) recording: PathBuf,

    /// Of a fleet table: keep pages that at least this many percent of the hosts touched [default: 1]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) share: Option<u8>,

    /// Where to write the trace
    #[arg(long, short, value_name = "FILE.coldtrace")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Print one JSON object instead of a summary
    #[arg(long)]
    pub(crate) json: bool,
}

const RECORD_HELP: &str = "\
The program is started once, unchanged, at almost full speed, with or without root. Its input and output are ours, and our messages \
go to stderr. With `--ready exit` the exit code is the program's own (128 plus the signal's number if it was killed by one); \
with another readiness, or with --json: 0 recorded, 1 it never was ready, 2 something broke.

A program whose name is `show`, `sql` or `import` stands behind `--`, as all may.

Examples:
  coldstart trace -- soffice --headless --convert-to pdf letter.odt
  coldstart trace -o cold.coldtrace --cold --ready window -- firefox
  coldstart trace --functions-of 'libxul*' -- firefox --version
  coldstart trace show firefox.coldtrace";

const SHOW_HELP: &str = "\
Sums of distances grow with the number of events: compare them only between traces of the same kind, equally complete.

Examples:
  coldstart trace show firefox.coldtrace
  coldstart trace show firefox.coldtrace --sections --object 'libxul*' --limit 0
  coldstart trace show firefox.coldtrace --json";

const SQL_HELP: &str = "\
The file is only read. In the table, long values are cut and control characters escaped; --csv escapes them, too; --json \
prints everything unchanged.

Examples:
  coldstart trace sql firefox.coldtrace 'SELECT name FROM sqlite_schema'
  coldstart trace sql firefox.coldtrace 'SELECT kind, count(*) FROM event GROUP BY kind' --csv";

const IMPORT_HELP: &str = "\
Page faults are imported (`perf record -e page-faults -c 1 -d`), and mappings. Such a recording contains neither phases nor \
files.

A fleet table has what the hosts of a fleet touched, by build id (docs/scale.md). Its trace is that of a typical start of the build \
that is here, for `prefetch record --exact --from`, `image make --trace` and `order`.

Examples:
  coldstart trace import perf.data -o app.coldtrace
  coldstart trace import --share 30 fleet.jsonl -o app.coldtrace";

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use super::*;
    use crate::args::{Cli, Verb};

    fn parse(words: &str) -> Result<TraceArgs, clap::Error> {
        let line = format!("coldstart trace {words}");
        match Cli::try_parse_from(line.split_whitespace())?.verb {
            Verb::Trace(args) => Ok(args),
            _ => Err(clap::Error::new(ErrorKind::InvalidSubcommand)),
        }
    }

    fn program(words: &str) -> Vec<String> {
        let args = parse(words).unwrap();
        assert!(args.action.is_none(), "{words}");
        let words = args.record.program.words;
        words.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn behind_two_dashes_every_name_is_a_program() {
        for verb in ["show", "sql", "import"] {
            assert_eq!(program(&format!("-- {verb} a --json")), [verb, "a", "--json"]);
            assert_eq!(program(&format!("--cold -o t -- {verb}")), [verb]);
        }
        assert_eq!(program("firefox --version"), ["firefox", "--version"]);
        assert!(matches!(parse("show a").unwrap().action, Some(TraceAction::Show(_))));
        assert!(matches!(parse("sql a b").unwrap().action, Some(TraceAction::Sql(_))));
        assert_eq!(parse("").unwrap_err().kind(), ErrorKind::MissingRequiredArgument);
        assert_eq!(parse("sql a").unwrap_err().kind(), ErrorKind::MissingRequiredArgument);
        assert_eq!(parse("sql a b --json --csv").unwrap_err().kind(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn who_names_functions_wants_functions() {
        use Layer::{Files, Functions, Pages, Phases};
        for (words, layers) in [
            ("-- a", vec![Phases, Pages, Files]),
            ("--layers pages,phases,pages -- a", vec![Phases, Pages]),
            ("--layers pages --functions-of libxul.so -- a", vec![Phases, Pages, Functions]),
            ("--layers functions -- a", vec![Phases, Pages, Functions]),
            ("--all-functions -- a", Layer::ALL.to_vec()),
        ] {
            assert_eq!(parse(words).unwrap().record.layers(), layers, "{words}");
        }
        assert_eq!(parse("--layers speed -- a").unwrap_err().kind(), ErrorKind::InvalidValue);
    }
}
