//! `coldstart verify`: prove that a packed file is the same to a loader as what it was made from.

use std::ops::Range;
use std::path::Path;

use anyhow::Context;
use coldstart_elf::ElfFile;
use coldstart_rewrite::{NotProven, Proof, Refusal, Source, plan_unpack, prove};
use coldstart_sys::file_view::FileView;
use serde::Serialize;

use super::reading::map;
use super::rewriting::{Refused, complain_refused, proof_words, shrank};
use crate::args::verify::VerifyArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::{JsonPath, printable};
use crate::output::text::{escaped, fact, prose};
use crate::output::{self, json};

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
    let compared = match &args.against {
        Some(path) => {
            let original = open(path)?;
            let compared = prove(mapped(&original, &release_of(&original)), mapped(&view, &release_of(&view)));
            if original.shrank() {
                return Err(shrank(path));
            }
            Compared::Proven(compared)
        }
        None => against_note(&view),
    };
    if view.shrank() {
        return Err(shrank(&args.output));
    }
    let exit = if matches!(compared, Compared::Proven(Ok(_))) { Exit::Done } else { Exit::No };
    if args.json {
        json::print(SCHEMA, &verdict(args, compared))?;
    } else {
        tell(args, compared)?;
    }
    Ok(exit)
}

/// What came of the comparison.
enum Compared {
    Proven(Result<Proof, NotProven>),
    /// There is nothing to compare with.
    Refused(Refusal),
}

/// Compares with what the note restores, in memory.
fn against_note(view: &FileView) -> Compared {
    let restored = ElfFile::parse(view.bytes()).map_err(Refusal::from).and_then(|file| {
        let plan = plan_unpack(&file)?;
        let restored = plan.script.to_vec(view.bytes()).map_err(|error| Refusal::CannotUndo(error.to_string()))?;
        plan.check(Source::in_memory(&restored))?;
        Ok(restored)
    });
    match restored {
        Ok(restored) => {
            let original = Source::in_memory(&restored);
            Compared::Proven(prove(original, mapped(view, &release_of(view))))
        }
        Err(refusal) => Compared::Refused(refusal),
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

fn verdict(args: &VerifyArgs, compared: Compared) -> Verdict {
    let against = args.against.as_ref().map(|path| path.to_string_lossy().into_owned());
    let mut verdict = Verdict {
        path: JsonPath::new(&args.output),
        against,
        same: false,
        proof: None,
        difference: None,
        refusal: None,
    };
    match compared {
        Compared::Proven(Ok(proof)) => {
            verdict.same = true;
            verdict.proof = Some(proof);
        }
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
