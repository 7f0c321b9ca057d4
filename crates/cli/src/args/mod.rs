//! What may be typed: one definition that feeds parsing, help, the man page and completions.
//!
//! Nothing here does anything; a verb's work is under the same name in `commands/`.

pub(crate) mod bind;
pub(crate) mod doctor;
pub(crate) mod hurried;
pub(crate) mod inspect;
pub(crate) mod launching;
pub(crate) mod ldcache;
pub(crate) mod listed;
pub(crate) mod measure;
pub(crate) mod output;
pub(crate) mod pack;
pub(crate) mod pagecache;
pub(crate) mod prefetch;
pub(crate) mod resolve;
pub(crate) mod rewriting;
pub(crate) mod speedup;
pub(crate) mod status;
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
    /// What was typed.
    ///
    /// # Errors
    /// Help, the version, or a mistake, each to be printed.
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

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Rewrite a program so that every library is found at the first try, and prove it
    Bind(bind::BindArgs),
    /// Say what this machine allows, what each missing thing costs, and how to get it
    Doctor(doctor::DoctorArgs),
    /// Say what in ELF files costs start-up time, and what each fix would save
    Inspect(inspect::InspectArgs),
    /// Read, write and check loader caches in glibc's own format
    Ldcache(ldcache::LdcacheArgs),
    /// Time a program's start from cold and hot caches
    Measure(measure::MeasureArgs),
    /// Rewrite ELF files so that their relocations take little room, and prove it
    Pack(pack::PackArgs),
    /// See or change what of files is in memory
    Pagecache(pagecache::PagecacheArgs),
    /// Read what a program will need before it asks
    Prefetch(prefetch::PrefetchArgs),
    /// Say how the loader finds each library of a program, and why; the program is not run
    Resolve(resolve::ResolveArgs),
    /// Make a program start faster, and prove it: the whole story
    Speedup(speedup::SpeedupArgs),
    /// Say which edits of ours a file holds, and which libraries have changed since
    Status(status::StatusArgs),
    /// Record what one start of a program really does, and show it
    Trace(trace::TraceArgs),
    /// Restore what was there before `bind`, byte for byte
    Unbind(unbind::UnbindArgs),
    /// Restore what was there before `pack`, byte for byte
    Unpack(unpack::UnpackArgs),
    /// Prove that a packed file is the same to a loader as what it was made from
    Verify(verify::VerifyArgs),
    /// Look at a start: as a page, a picture, in another viewer, or here
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
    /// Makes the choice hold for everything printed from here on.
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
