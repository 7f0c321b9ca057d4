//! `coldstart verify`: prove that a rewritten file is the same to a loader as what it was made from.

mod run;
mod search;
mod words;

use std::ops::Range;
use std::path::Path;

use anyhow::Context;
use coldstart_bind::Binding;
use coldstart_elf::ElfFile;
use coldstart_rewrite::{About, NotProven, Proof, Refusal, Source, binding_note, plan_unpack, prove, prove_search};
use coldstart_sys::file_view::FileView;
use serde::Serialize;

use super::reading::map;
use super::rewriting::{Refused, complain_refused, proof_words, shrank};
use crate::args::verify::VerifyArgs;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::path::{JsonPath, printable};
use crate::output::text::{escaped, fact, prose};
use crate::output::{self, json};
use run::Starts;
use search::Search;

/// The schema of `--json`.
const SCHEMA: &str = "coldstart.verify/1";

/// What was found out.
#[derive(Serialize)]
struct Verdict {
    #[serde(flatten)]
    path: JsonPath,
    /// What it was compared with; null for what its note restores.
    against: Option<String>,
    same: bool,
    proof: Option<Proof>,
    difference: Option<Difference>,
    refusal: Option<Refused>,
    /// What a bound program loads, by the loader's rules.
    search: Option<Search>,
    /// What starts of a bound program and its original did.
    starts: Option<Starts>,
}

#[derive(Serialize)]
struct Difference {
    /// What kind of thing.
    what: &'static str,
    /// What, where, and what each file has there.
    message: String,
}

pub(super) fn run(args: &VerifyArgs) -> Result<Exit, CliError> {
    let view = open(&args.output)?;
    let binding = binding(&view);
    let (compared, original) = match &args.against {
        Some(path) => {
            let original = open(path)?;
            let release = release_of(&original);
            let compared = compare(mapped(&original, &release), mapped(&view, &release_of(&view)), binding.as_ref());
            if original.shrank() {
                return Err(shrank(path));
            }
            (Compared::Proven(compared), None)
        }
        None => against_note(&view, binding.as_ref()),
    };
    if view.shrank() {
        return Err(shrank(&args.output));
    }
    let search = binding.as_ref().map(|binding| search::compare(&args.output, binding)).transpose()?;
    let starts = match (&binding, args.run) {
        (Some(binding), true) => Some(run::starts(args, binding, original.as_deref())?),
        (None, true) => {
            return Err(anyhow::anyhow!(
                "`{}` is no bound program, so that there is nothing to start",
                printable(&args.output)
            ))
            .hint(|| "without --run the file is proven against what it was made from");
        }
        _ => None,
    };
    let is_same = matches!(compared, Compared::Proven(Ok(_)))
        && search.as_ref().is_none_or(Search::holds)
        && starts.as_ref().is_none_or(Starts::holds);
    let exit = if is_same { Exit::Done } else { Exit::No };
    if args.json {
        json::print(SCHEMA, &verdict(args, is_same, compared, search, starts))?;
    } else {
        tell(args, compared)?;
        let name = printable(&args.output);
        output::print(&search.iter().map(words::search).chain(starts.iter().map(words::starts)).collect::<String>())?;
        if !is_same && binding.is_some() {
            output::hint(&format!("`coldstart status {name}` tells what has changed since it was bound"));
        }
    }
    Ok(exit)
}

/// How the file was bound, if that was the last that was done to it.
fn binding(view: &FileView) -> Option<Binding> {
    let file = ElfFile::parse(view.bytes()).ok()?;
    About::read(&file).filter(|about| about.edits.last().is_some_and(|edit| edit == "bind"))?;
    Binding::from_json(binding_note(&file)?).ok()
}

/// What came of the comparison.
enum Compared {
    Proven(Result<Proof, NotProven>),
    /// There is nothing to compare with.
    Refused(Refusal),
}

fn compare(original: Source<'_>, output: Source<'_>, binding: Option<&Binding>) -> Result<Proof, NotProven> {
    match binding {
        Some(binding) => prove_search(original, output, &binding.edit()),
        None => prove(original, output),
    }
}

/// Compares with what the note restores, in memory.
fn against_note(view: &FileView, binding: Option<&Binding>) -> (Compared, Option<Vec<u8>>) {
    let restored =
        ElfFile::parse(view.bytes()).map_err(Refusal::from).and_then(|file| plan_unpack(&file)?.restore(view.bytes()));
    match restored {
        Ok(restored) => {
            let original = Source::in_memory(&restored);
            let compared = compare(original, mapped(view, &release_of(view)), binding);
            (Compared::Proven(compared), Some(restored))
        }
        Err(refusal) => (Compared::Refused(refusal), None),
    }
}

fn open(path: &Path) -> Result<FileView, CliError> {
    Ok(map(path).with_context(|| format!("cannot read `{}`", printable(path)))?)
}

fn release_of(view: &FileView) -> impl Fn(Range<usize>) + Sync {
    |range| view.release(range)
}

fn mapped<'a>(view: &'a FileView, release: &'a (dyn Fn(Range<usize>) + Sync)) -> Source<'a> {
    Source { bytes: view.bytes(), release }
}

fn verdict(
    args: &VerifyArgs,
    same: bool,
    compared: Compared,
    search: Option<Search>,
    starts: Option<Starts>,
) -> Verdict {
    let against = args.against.as_ref().map(|path| path.to_string_lossy().into_owned());
    let mut verdict = Verdict {
        path: JsonPath::new(&args.output),
        against,
        same,
        proof: None,
        difference: None,
        refusal: None,
        search,
        starts,
    };
    match compared {
        Compared::Proven(Ok(proof)) => verdict.proof = Some(proof),
        Compared::Proven(Err(difference)) => {
            verdict.difference = Some(Difference { what: difference.what(), message: difference.to_string() });
        }
        Compared::Refused(refusal) => verdict.refusal = Some(refusal.into()),
    }
    verdict
}

fn tell(args: &VerifyArgs, compared: Compared) -> Result<(), CliError> {
    let name = printable(&args.output);
    let other = match args.against.as_deref() {
        Some(path) => format!("`{}`", printable(path)),
        None => "what its note restores".to_owned(),
    };
    match compared {
        Compared::Proven(Ok(proof)) => {
            let text = prose(&format!("`{name}` is the same to a loader as {other}"), 0, 2);
            output::print(&(text + &fact("proof", &proof_words(&proof))))
        }
        Compared::Proven(Err(difference)) => {
            let text = prose(&format!("`{name}` is not the same to a loader as {other}"), 0, 2);
            output::print(&(text + &fact("what", &escaped(&difference.to_string()))))
        }
        Compared::Refused(refusal) => {
            let mut refused = Refused::from(refusal);
            let against = "`--against FILE` compares with a file that was kept".to_owned();
            refused.hint = Some(refused.hint.map_or(against.clone(), |hint| format!("{hint}; {against}")));
            complain_refused("verify", &args.output, &refused);
            Ok(())
        }
    }
}
