//! Fast parsing for what runs faster than the definition of all verbs is built.
//!
//! Building the whole definition, with all help texts, takes as long as opening a hundred libraries. So the
//! arguments of `resolve` are parsed by a definition that contains nothing else, and so is `--version`. Whatever it does not accept, `--help`
//! included, is left to the whole one, which then reports the mistake.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use super::prefetch::RunArgs;
use super::resolve::ResolveArgs;
use super::{Cli, Color, Verb};

#[derive(Debug, Parser)]
#[command(name = "coldstart", disable_help_subcommand = true)]
struct Hurried {
    #[arg(long, global = true, default_value = "auto")]
    color: Color,

    #[command(subcommand)]
    verb: HurriedVerb,
}

/// For `coldstart --version` alone.
#[derive(Debug, Parser)]
#[command(name = "coldstart", version)]
struct OnlyVersion {}

#[derive(Debug, Subcommand)]
enum HurriedVerb {
    Resolve(ResolveArgs),
}

/// The parsed arguments.
///
/// # Errors
/// Those of [`Cli::read`].
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let is_version =
        std::env::args_os().len() == 2 && std::env::args_os().nth(1).is_some_and(|word| word == "--version");
    if is_version && let Err(version) = OnlyVersion::try_parse() {
        return Err(version);
    }
    let is_hurried = std::env::args_os().nth(1).is_some_and(|verb| verb == "resolve");
    let hurried = is_hurried.then(|| Hurried::try_parse().ok()).flatten();
    match hurried {
        Some(Hurried { color, verb: HurriedVerb::Resolve(args) }) => {
            Ok(Cli { color, is_json: args.json, verb: Verb::Resolve(args) })
        }
        None => Cli::read(),
    }
}

/// Recognises `coldstart prefetch run PLAN -- PROGRAM ...` word for word.
///
/// Building the parser for all verbs takes longer than the whole rest of the launcher, and what this form means is beyond doubt.
/// Every other form goes through the parser.
pub(crate) fn launcher(mut words: impl Iterator<Item = OsString>) -> Option<RunArgs> {
    let mut next_is = |expected: &str| words.next().is_some_and(|word| word == expected);
    if !(next_is("prefetch") && next_is("run")) {
        return None;
    }
    let plan = words.next().filter(|plan| !plan.as_encoded_bytes().starts_with(b"-"))?;
    if words.next()? != "--" {
        return None;
    }
    let words: Vec<OsString> = words.collect();
    (!words.is_empty()).then(|| RunArgs { plan: plan.into(), words })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(words: &[&str]) -> Option<(String, usize)> {
        let form = launcher(words.iter().map(OsString::from))?;
        Some((form.plan.to_string_lossy().into_owned(), form.words.len()))
    }

    #[test]
    fn only_the_exact_form_skips_the_parser() {
        assert_eq!(plain(&["prefetch", "run", "a.prefetch", "--", "true", "--help"]), Some(("a.prefetch".into(), 2)));
        for other in [
            &["prefetch", "run", "a.prefetch", "true"][..],
            &["prefetch", "run", "--help", "--", "true"],
            &["prefetch", "run", "a.prefetch", "--"],
            &["--color", "never", "prefetch", "run", "a.prefetch", "--", "true"],
            &["prefetch", "show", "a.prefetch", "--", "true"],
            &[],
        ] {
            assert_eq!(plain(other), None, "{other:?}");
        }
    }
}
