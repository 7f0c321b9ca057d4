//! `coldstart verify`: prove that a rewritten file is the same to a loader as what it was made from.

mod run;
mod search;
mod words;

use std::ops::Range;
use std::path::Path;

use anyhow::Context;
use coldstart_bind::Binding;
use coldstart_elf::ElfFile;
use coldstart_rewrite::{
    About, ChangedFile, Identity, NotProven, Proof, Refusal, Source, binding_note, identify, plan_unpack, prove,
    prove_search,
};
use coldstart_sys::file_view::FileView;
use serde::Serialize;

use super::rewriting::{Refused, complain_refused, proof_words, shrank};
use crate::args::verify::VerifyArgs;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::path::{JsonPath, printable};
use crate::output::text::{escaped, fact, prose};
use crate::output::{self, command, json};
use coldstart_app::reading::map;
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
    /// Whether OUT is the file that its note was written into; null without a note.
    identity: Option<Identity>,
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
            let compared = against_file(&view, mapped(&original, &release), binding.as_ref());
            if original.shrank() {
                return Err(shrank(path));
            }
            (compared, None)
        }
        None => against_note(&view, binding.as_ref()),
    };
    let identity = ElfFile::parse(view.bytes()).ok().and_then(|file| identify(&file));
    if view.shrank() {
        return Err(shrank(&args.output));
    }
    let search = binding.as_ref().map(|binding| search::compare(&args.output, binding)).transpose()?;
    let starts = match (&binding, args.run) {
        (Some(binding), true) => Some(run::starts(args, binding, original.as_deref())?),
        (None, true) => {
            return Err(anyhow::anyhow!(
                "`{}` is not a bound program, and `--run` starts only bound ones",
                printable(&args.output)
            ))
            .hint(|| "without --run the file is proven against what it was made from");
        }
        _ => None,
    };
    let is_same = matches!(compared, Compared::Proven(Ok(_)))
        && !matches!(identity, Some(Identity::Changed { .. }))
        && search.as_ref().is_none_or(Search::holds)
        && starts.as_ref().is_none_or(Starts::holds);
    let exit = if is_same { Exit::Done } else { Exit::No };
    if args.json {
        json::print(SCHEMA, &verdict(args, is_same, identity, compared, search, starts))?;
    } else {
        tell(args, compared)?;
        // Without --against, that is the answer.
        if let (Some(Identity::Changed { change }), Some(_)) = (&identity, &args.against) {
            output::note(&escaped(&format!("`{}` is not as coldstart wrote it: {change}", printable(&args.output))));
        }
        output::print(&search.as_ref().map(words::search).unwrap_or_default())?;
        output::print(&starts.as_ref().map(|starts| words::starts(starts, &args.waiting)).unwrap_or_default())?;
        if starts.as_ref().is_some_and(Starts::reached_limit) {
            output::hint("`--ready WHEN` says when it counts as started; `--time-limit SECONDS` waits longer for it");
        } else if !is_same && binding.is_some() {
            let status = command::of_ours("status", [args.output.as_os_str()]);
            output::hint(&format!("`{status}` tells what has changed since it was bound"));
        }
    }
    Ok(exit)
}

/// How the file was bound, whatever was edited since.
fn binding(view: &FileView) -> Option<Binding> {
    Binding::from_json(&binding_text(view.bytes())?).ok()
}

fn binding_text(bytes: &[u8]) -> Option<String> {
    binding_note(&ElfFile::parse(bytes).ok()?).map(str::to_owned)
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

/// Compares with a file: what it was made from, or for a program that was edited after it had been bound, what it was before or
/// after the binding.
fn against_file(view: &FileView, original: Source<'_>, binding: Option<&Binding>) -> Compared {
    let release = release_of(view);
    if binding.is_none() || binding_text(original.bytes) == binding_text(view.bytes()) {
        return Compared::Proven(prove(original, mapped(view, &release)));
    }
    match LaterEdits::take_back(view) {
        Err(refusal) => Compared::Refused(refusal),
        Ok(later) => Compared::Proven(later.with(compare(original, later.bound(mapped(view, &release)), binding))),
    }
}

/// Compares with what the note restores, in memory; of a bound program, that is the program before it was bound.
fn against_note(view: &FileView, binding: Option<&Binding>) -> (Compared, Option<Vec<u8>>) {
    let release = release_of(view);
    let compared = || {
        let later = if binding.is_some() { LaterEdits::take_back(view)? } else { LaterEdits::default() };
        let output = later.bound(mapped(view, &release));
        let restored = taken_back(output.bytes)?;
        let compared = later.with(compare(Source::in_memory(&restored), output, binding));
        Ok::<_, Refusal>((compared, restored))
    };
    match compared() {
        Ok((compared, restored)) => (Compared::Proven(compared), Some(restored)),
        Err(refusal) => (Compared::Refused(refusal), None),
    }
}

/// The edits that were made in a program after it had been bound, taken back.
#[derive(Default)]
struct LaterEdits {
    /// The program as it was bound; none without later edits.
    bound: Option<Vec<u8>>,
    /// The proof of the last edit, or the first difference.
    proven: Option<Result<Proof, NotProven>>,
}

impl LaterEdits {
    /// Takes them back in memory, and proves each.
    fn take_back(view: &FileView) -> Result<Self, Refusal> {
        let release = release_of(view);
        let mut later = Self::default();
        loop {
            let output = later.bound(mapped(view, &release));
            // A binding that others have edited cannot be taken back, and need not.
            if About::read(&ElfFile::parse(output.bytes)?)
                .is_some_and(|about| about.edits.ends_with(&["bind".to_owned()]))
            {
                return Ok(later);
            }
            let restored = taken_back(output.bytes)?;
            let step = prove(Source::in_memory(&restored), output);
            later = Self { proven: Some(later.with(step)), bound: Some(restored) };
        }
    }

    /// The program as it was bound, where `now` is the program as it stands.
    fn bound<'a>(&'a self, now: Source<'a>) -> Source<'a> {
        self.bound.as_deref().map_or(now, Source::in_memory)
    }

    /// What these proofs and the one of an edit before them say together.
    fn with(&self, before: Result<Proof, NotProven>) -> Result<Proof, NotProven> {
        match &self.proven {
            Some(Ok(last)) => before.map(|_| last.clone()),
            Some(Err(difference)) => Err(difference.clone()),
            None => before,
        }
    }
}

/// A file before its last edit.
fn taken_back(bytes: &[u8]) -> Result<Vec<u8>, Refusal> {
    plan_unpack(&ElfFile::parse(bytes)?, ChangedFile::Refuse)?.restore(bytes)
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
    identity: Option<Identity>,
    compared: Compared,
    search: Option<Search>,
    starts: Option<Starts>,
) -> Verdict {
    let against = args.against.as_ref().map(|path| path.to_string_lossy().into_owned());
    let mut verdict = Verdict {
        path: JsonPath::new(&args.output),
        against,
        same,
        identity,
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
