//! Command-line arguments: one definition for parsing, help, the man page and completions.
//!
//! No work is done here; a verb's work is in the file with the same name in `commands/`.

pub(crate) mod bind;
pub(crate) mod doctor;
pub(crate) mod hurried;
pub(crate) mod image;
pub(crate) mod index;
pub(crate) mod inspect;
pub(crate) mod installed;
pub(crate) mod installing;
pub(crate) mod launching;
pub(crate) mod ldcache;
pub(crate) mod listed;
pub(crate) mod measure;
pub(crate) mod order;
pub(crate) mod output;
pub(crate) mod pack;
pub(crate) mod pagecache;
pub(crate) mod prefetch;
pub(crate) mod resolve;
pub(crate) mod rewriting;
mod span;
pub(crate) mod speedup;
pub(crate) mod status;
pub(crate) mod survey;
pub(crate) mod trace;
pub(crate) mod unbind;
pub(crate) mod unpack;
pub(crate) mod verify;
pub(crate) mod view;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

/// Make big Linux programs start fast, and prove it
#[derive(Debug, Parser)]
#[command(
    name = "coldstart",
    version,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 done; 1 asked and answered no; 2 wrong usage, or something broke; 130 interrupted."
)]
pub(crate) struct Cli {
    /// When to colour the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,

    /// Whether the verb was given `--json`
    #[arg(skip)]
    pub(crate) is_json: bool,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

impl Cli {
    /// Parses the arguments.
    ///
    /// # Errors
    /// Help, the version, or a usage error, each to be printed.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let mut definition = Self::command();
        let matches = definition.try_get_matches_from_mut(std::env::args_os())?;
        let cli = Self::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))?;
        Ok(Self { is_json: asks_for_json(&matches), ..cli })
    }
}

/// Whether `--json` was given to a verb or to one below it.
fn asks_for_json(matches: &ArgMatches) -> bool {
    matches.try_get_one("json").is_ok_and(|asked| asked == Some(&true))
        || matches.subcommand().is_some_and(|(_, below)| asks_for_json(below))
}

/// The verb.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Rewrite a program so that every library is found at the first try, and verify it
    Bind(bind::BindArgs),
    /// Show what this machine allows, what each missing thing costs, and how to get it
    Doctor(doctor::DoctorArgs),
    /// Make, verify and show an image of files whose blocks lie in the order of a program's start
    Image(image::ImageArgs),
    /// Make interpreters find their modules at the first try
    Index(index::IndexArgs),
    /// Show what costs start-up time in ELF files, and what each fix would save
    Inspect(inspect::InspectArgs),
    /// List, refresh and undo what is installed where programs are started
    Installed(installed::InstalledArgs),
    /// Read, write and check loader caches in glibc's own format
    Ldcache(ldcache::LdcacheArgs),
    /// Measure a program's start from cold and hot caches
    Measure(measure::MeasureArgs),
    /// Order functions, archives and lists of files by what starts use first
    Order(order::OrderArgs),
    /// Shrink the relocations of ELF files, and verify the result
    Pack(pack::PackArgs),
    /// Show or change which files are in the page cache
    Pagecache(pagecache::PagecacheArgs),
    /// Prefetch a program's files before it needs them
    Prefetch(prefetch::PrefetchArgs),
    /// Show how the loader finds each library of a program, and why; the program is not run
    Resolve(resolve::ResolveArgs),
    /// Make a program start faster, and prove it: measure, fix, verify
    Speedup(speedup::SpeedupArgs),
    /// List coldstart's edits in a file, and libraries that have changed since
    Status(status::StatusArgs),
    /// Survey packages, images and root file systems: the start-up costs of every object, as Parquet tables
    Survey(survey::SurveyArgs),
    /// Record one start of a program, and show it
    Trace(trace::TraceArgs),
    /// Undo `bind`, byte for byte
    Unbind(unbind::UnbindArgs),
    /// Undo `pack`, byte for byte
    Unpack(unpack::UnpackArgs),
    /// Prove that a packed file is equivalent to its original for a loader
    Verify(verify::VerifyArgs),
    /// Show a recorded start: as a page, a picture, in another viewer, or here
    View(view::ViewArgs),
}

/// When to colour.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Applies the choice to everything printed from here on.
    pub(crate) fn apply(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_arguments_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
