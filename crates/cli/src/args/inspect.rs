//! Arguments of `coldstart inspect`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use coldstart_inspect::FindingKind;

use super::output::ForceArgs;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct InspectArgs {
    /// ELF files, directories to walk, or programs on PATH
    #[arg(required = true, value_name = "FILE|DIR|PROGRAM")]
    pub(crate) targets: Vec<PathBuf>,

    /// Also inspect everything that the program loads, as found by the dynamic loader
    #[arg(long, conflicts_with = "one_file_system")]
    pub(crate) closure: bool,

    /// Compare the figures with those of another file, directory or program
    #[arg(long, value_name = "OTHER")]
    pub(crate) compare: Option<PathBuf>,

    /// Exit with code 1 if there is one of these findings; `any` for all
    #[arg(long, value_name = "FINDING", value_delimiter = ',', value_parser = findings())]
    pub(crate) fail_on: Vec<FailOn>,

    /// Show all rows of all tables instead of the first
    #[arg(long)]
    pub(crate) all: bool,

    /// Do not walk into other file systems
    #[arg(long, short = 'x')]
    pub(crate) one_file_system: bool,

    /// Also draw a map of the bytes
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,

    /// Also write a page with all figures, findings and objects
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

const HELP: &str = "\
Files are only read, never run or changed. Debug files are used if installed; in a stripped file, vtables are \
inferred from their shape, and marked as such.

Exit codes: 0 done; 1 a finding of --fail-on is there; 2 something could not be read.

Examples:
  coldstart inspect /usr/lib/chromium/chromium
  coldstart inspect --closure python3
  coldstart inspect build/ --fail-on unpacked-relocations,text-relocations
  coldstart inspect libfoo.so --compare old/libfoo.so
  coldstart inspect --closure soffice.bin --html soffice.html";

/// The values of `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailOn {
    /// Any finding.
    Any,
    /// One kind.
    Kind(FindingKind),
}

impl FailOn {
    /// Whether a finding of this kind is meant.
    pub(crate) fn means(self, kind: FindingKind) -> bool {
        self == Self::Any || self == Self::Kind(kind)
    }
}

fn findings() -> impl TypedValueParser<Value = FailOn> {
    let names = FindingKind::ALL.iter().map(|kind| PossibleValue::new(kind.name()));
    let names = names.chain([PossibleValue::new("any")]);
    PossibleValuesParser::new(names).map(|name| {
        let kind = FindingKind::ALL.into_iter().find(|kind| kind.name() == name);
        kind.map_or(FailOn::Any, FailOn::Kind)
    })
}
