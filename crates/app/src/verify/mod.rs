//! `verify`: prove that a rewritten file is equivalent to its original for a loader.

mod search;
mod starts;

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_bind::Binding;
use coldstart_elf::ElfFile;
use coldstart_launch::LaunchOptions;
use coldstart_profile::{JsonPath, escaped, printable};
use coldstart_prove::{BindEdit, NotProven, Proof, Source, prove, prove_bound, prove_search};
use coldstart_rewrite::{About, ChangedFile, Identity, Pass, Refusal, binding_note, identify, plan_unpack};
use coldstart_sys::file_view::FileView;
use serde::Serialize;

use crate::error::{AppError, HintExt};
use crate::observer::Silent;
use crate::pack::world::World;
use crate::reading::map;
use crate::rewriting::{Refused, truncated_error};

pub use search::{FirstDifference, Search};
pub use starts::{CountedUntil, Start, Starts};

/// The name and version of the JSON schema.
pub const SCHEMA: &str = "coldstart.verify/1";

/// What was found out.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// The rewritten file.
    #[serde(flatten)]
    pub path: JsonPath,
    /// What it was compared with; `None` for its restored original.
    pub against: Option<String>,
    /// Whether everything was compared and is the same.
    pub same: bool,
    /// Whether it is unchanged since its note was written; `None` without a note.
    pub identity: Option<Identity>,
    /// The proof, if it is equivalent.
    pub proof: Option<Proof>,
    /// The first difference.
    pub difference: Option<Difference>,
    /// Why there is nothing to compare with.
    pub refusal: Option<Refused>,
    /// The search of a bound program by the loader's rules.
    pub search: Option<Search>,
    /// The starts of a bound program and its original.
    pub starts: Option<Starts>,
    /// Whether it is a bound program.
    #[serde(skip)]
    pub is_bound: bool,
}

/// A difference between two files that matters to a loader.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// The kind of difference.
    pub what: &'static str,
    /// What differs, where, and the two values.
    pub message: String,
}

/// What to verify, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rewritten file.
    pub output: PathBuf,
    /// The file that it was made from; `None` for its restored original.
    pub against: Option<PathBuf>,
    /// How to start a bound program and its original; `None` for no starts.
    pub starting: Option<StartOptions>,
}

/// How a bound program and its original are started.
#[derive(Clone, Debug)]
pub struct StartOptions {
    /// When a start is over, and its time limit.
    pub launching: LaunchOptions,
    /// Arguments for the program.
    pub arguments: Vec<OsString>,
    /// Number of starts of each to compare the cost of relocation.
    pub runs: u32,
}

/// Proves that a rewritten file is equivalent to its original for a loader, by reading both again. For a bound program, the
/// loader's rules must also give the same files in the same order. Nothing is run, unless `starting` is given.
///
/// A difference, or a missing original, is a verdict and not an error.
///
/// # Errors
/// If a file cannot be read, is truncated meanwhile, or cannot be started.
pub fn verify(options: &Options) -> Result<Verdict, AppError> {
    let view = open(&options.output)?;
    let binding = binding(&view);
    let own = own_references(&view)?;
    let own = own.as_ref();
    let (compared, original) = match &options.against {
        Some(path) => {
            let original = open(path)?;
            let release = release_of(&original);
            let compared = against_file(&view, mapped(&original, &release), binding.as_ref(), own);
            if original.shrank() {
                return Err(truncated_error(path));
            }
            (compared, None)
        }
        None => against_note(&view, binding.as_ref(), own),
    };
    let identity = ElfFile::parse(view.bytes()).ok().and_then(|file| identify(&file));
    if view.shrank() {
        return Err(truncated_error(&options.output));
    }
    let search = binding.as_ref().map(|binding| search::compare(&options.output, binding)).transpose()?;
    let starts = match (&binding, &options.starting) {
        (Some(binding), Some(starting)) => Some(starts::starts(options, starting, binding, original.as_deref())?),
        (None, Some(_)) => {
            return Err(anyhow::anyhow!(
                "`{}` is not a bound program, as required by `--run`",
                printable(&options.output)
            ))
            .hint(|| "without --run the file is compared with its original");
        }
        _ => None,
    };
    let same = matches!(compared, Compared::Proven(Ok(_)))
        && !matches!(identity, Some(Identity::Changed { .. }))
        && search.as_ref().is_none_or(Search::holds)
        && starts.as_ref().is_none_or(Starts::holds);
    let mut verdict = Verdict {
        path: JsonPath::new(&options.output),
        against: options.against.as_ref().map(|path| path.to_string_lossy().into_owned()),
        same,
        identity,
        proof: None,
        difference: None,
        refusal: None,
        search,
        starts,
        is_bound: binding.is_some(),
    };
    match compared {
        Compared::Proven(Ok(proof)) => verdict.proof = Some(proof),
        Compared::Proven(Err(difference)) => {
            verdict.difference = Some(Difference { what: difference.what(), message: difference.to_string() });
        }
        Compared::Refused(refusal) => verdict.refusal = Some(refusal.into()),
    }
    Ok(verdict)
}

/// The file's binding, even after later edits.
fn binding(view: &FileView) -> Option<Binding> {
    Binding::from_json(&binding_text(view.bytes())?).ok()
}

fn binding_text(bytes: &[u8]) -> Option<String> {
    binding_note(&ElfFile::parse(bytes).ok()?).map(str::to_owned)
}

/// The result of the comparison.
enum Compared {
    Proven(Result<Proof, NotProven>),
    /// There is nothing to compare with.
    Refused(Refusal),
}

fn compare(
    original: Source<'_>,
    output: Source<'_>,
    binding: Option<&Binding>,
    own: Option<&BindEdit>,
) -> Result<Proof, NotProven> {
    match binding {
        Some(binding) => prove_search(original, output, &binding.edit()),
        None => prove_packed(original, output, own),
    }
}

/// Compares as `pack` does, whose last pass may have bound references to the file's own definitions.
fn prove_packed(original: Source<'_>, output: Source<'_>, own: Option<&BindEdit>) -> Result<Proof, NotProven> {
    match own {
        Some(edit) => prove_bound(original, output, edit),
        None => prove(original, output),
    }
}

/// The references to its own definitions that a packed file may have bound: in a closed world those that none of its
/// programs lets another object take over, as these programs are now.
fn own_references(view: &FileView) -> Result<Option<BindEdit>, AppError> {
    let Ok(file) = ElfFile::parse(view.bytes()) else { return Ok(None) };
    let Some(about) = About::read(&file) else { return Ok(None) };
    let has = |pass: Pass| about.edits.iter().any(|edit| edit == pass.name());
    let stub = has(Pass::Stub);
    let lower_alignment = has(Pass::LowerAlignment);
    if !has(Pass::BindLocal) && !has(Pass::PureVirtual) && !stub && !lower_alignment {
        return Ok(None);
    }
    let pure_virtual = has(Pass::PureVirtual);
    let Some(world) = about.world.filter(|_| has(Pass::BindLocal) || stub) else {
        return Ok(Some(BindEdit { pure_virtual, stub, lower_alignment, ..BindEdit::default() }));
    };
    let programs: Vec<PathBuf> = world.programs.iter().map(PathBuf::from).collect();
    let all = World::of(&programs, &Silent)?;
    let closed = all.symbols()?.closed(Path::new(&world.file), &file);
    let closed = closed.with_context(|| format!("cannot read the symbols of `{}`", escaped(&world.file)))?;
    let lost = || anyhow::anyhow!("no program of its closed world loads `{}`", escaped(&world.file));
    let not_interposed =
        closed.not_interposed.ok_or_else(lost).hint(|| "pack the original again for the programs that load it now")?;
    Ok(Some(BindEdit { not_interposed, pure_virtual, stub, lower_alignment }))
}

/// Compares with a file: the original, or for a program with edits after the binding, the program before or after the
/// binding.
fn against_file(view: &FileView, original: Source<'_>, binding: Option<&Binding>, own: Option<&BindEdit>) -> Compared {
    let release = release_of(view);
    if binding.is_none() || binding_text(original.bytes) == binding_text(view.bytes()) {
        return Compared::Proven(prove_packed(original, mapped(view, &release), own));
    }
    match LaterEdits::take_back(view, own) {
        Err(refusal) => Compared::Refused(refusal),
        Ok(later) => Compared::Proven(later.with(compare(original, later.bound(mapped(view, &release)), binding, own))),
    }
}

/// Compares with the original from the note, in memory; for a bound program, the program before the binding.
fn against_note(view: &FileView, binding: Option<&Binding>, own: Option<&BindEdit>) -> (Compared, Option<Vec<u8>>) {
    let release = release_of(view);
    let compared = || {
        let later = if binding.is_some() { LaterEdits::take_back(view, own)? } else { LaterEdits::default() };
        let output = later.bound(mapped(view, &release));
        let restored = taken_back(output.bytes)?;
        let compared = later.with(compare(Source::in_memory(&restored), output, binding, own));
        Ok::<_, Refusal>((compared, restored))
    };
    match compared() {
        Ok((compared, restored)) => (Compared::Proven(compared), Some(restored)),
        Err(refusal) => (Compared::Refused(refusal), None),
    }
}

/// Undoes the edits made after the binding.
#[derive(Default)]
struct LaterEdits {
    /// The program right after the binding; `None` without later edits.
    bound: Option<Vec<u8>>,
    /// The proof of the last edit, or the first difference.
    proven: Option<Result<Proof, NotProven>>,
}

impl LaterEdits {
    /// Undoes them in memory, and proves each.
    fn take_back(view: &FileView, own: Option<&BindEdit>) -> Result<Self, Refusal> {
        let release = release_of(view);
        let mut later = Self::default();
        loop {
            let output = later.bound(mapped(view, &release));
            // A binding edited by another tool cannot be undone, and does not have to be.
            if About::read(&ElfFile::parse(output.bytes)?)
                .is_some_and(|about| about.edits.ends_with(&["bind".to_owned()]))
            {
                return Ok(later);
            }
            let restored = taken_back(output.bytes)?;
            let step = prove_packed(Source::in_memory(&restored), output, own);
            later = Self { proven: Some(later.with(step)), bound: Some(restored) };
        }
    }

    /// The program right after the binding; `now` is the current program.
    fn bound<'a>(&'a self, now: Source<'a>) -> Source<'a> {
        self.bound.as_deref().map_or(now, Source::in_memory)
    }

    /// Combines these proofs with the proof of an earlier edit.
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

fn open(path: &Path) -> Result<FileView, AppError> {
    Ok(map(path).with_context(|| format!("cannot read `{}`", printable(path)))?)
}

fn release_of(view: &FileView) -> impl Fn(Range<usize>) + Sync {
    |range| view.release(range)
}

fn mapped<'a>(view: &'a FileView, release: &'a (dyn Fn(Range<usize>) + Sync)) -> Source<'a> {
    Source { bytes: view.bytes(), release }
}
