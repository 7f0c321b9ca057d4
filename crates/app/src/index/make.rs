//! Making an index: a plain start, a recorded one, and one that proves it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_index::log;
use coldstart_index::{
    IndexPlace, Language, LanguageIndex, Manifest, RemoteNames, Variable, guile as guile_index, node as node_index,
    perl as perl_index, preload as preload_index, python as python_index, ruby as ruby_index, variables_of,
};
use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_profile::{JsonPath, printable};
use serde::Serialize;

use super::compare::{Answers, answers, of_files, of_modules, of_outputs};
use super::observed::{ObservedStart, observed};
use super::{guile, interpreter, node, perl, preload, python, ruby, settings};
use crate::error::{AppError, HintExt};
use crate::launching::Launching;
use crate::observer::Observer;
use crate::text::{counted, number, plain};

/// The logs of a recorded start: the variable that names it to the hook, and its name below the index in the making.
const LOGS: [(Language, &str, &str); 6] = [
    (Language::Python, python_index::LOG_VARIABLE, "log.python"),
    (Language::Perl, perl_index::LOG_VARIABLE, "log.perl"),
    (Language::Guile, guile_index::LOG_VARIABLE, "log.guile"),
    (Language::Ruby, ruby_index::LOG_VARIABLE, "log.ruby"),
    (Language::Node, node_index::LOG_VARIABLE, "log.node"),
    (Language::Any, preload_index::LOG_VARIABLE, "log.preload"),
];
/// Languages whose versions are not supported, in the hint.
const SUPPORTED: &str = "Python must be CPython 3.9 or later and started without -E and -I, Perl without -T, Ruby 2.7 or later and without --disable-gems, Node without --watch";

/// What an index is made for.
#[derive(Clone, Debug)]
pub struct MakeOptions {
    /// The index's directory: a free name, an empty directory or an earlier index.
    pub output: PathBuf,
    /// The program.
    pub command: CommandLine,
    /// Whether a preloaded library remembers absent names, whatever the program's language is.
    pub shim: bool,
    /// How it is started and waited for.
    pub launching: Launching,
}

/// An index that was made, or was not kept.
#[derive(Clone, Debug, Serialize)]
pub struct MakeOutcome {
    /// Where it is, or would be.
    #[serde(skip)]
    pub path: PathBuf,
    #[serde(flatten)]
    index: JsonPath,
    /// Whether the program was the same with it, so that it was kept.
    pub kept: bool,
    /// What it holds for each language.
    pub languages: Vec<MadeLanguage>,
    /// Calls that named a file: in a plain start, and with the index.
    pub calls: [u64; 2],
    /// What differed with the index, as clauses.
    pub differences: Vec<String>,
    /// What could not be compared because the program varies by itself, as clauses.
    pub unchecked: Vec<String>,
    /// Notes, a sentence each.
    pub notes: Vec<String>,
}

/// An index for one language.
#[derive(Clone, Debug, Serialize)]
pub struct MadeLanguage {
    /// The language.
    pub language: Language,
    /// The interpreter.
    #[serde(skip)]
    pub interpreter: PathBuf,
    /// The interpreter's version.
    pub version: String,
    /// Names of modules with a known place.
    pub modules: u64,
    /// Names that are known to be absent.
    pub missing: u64,
    /// Directories and stores that are checked at each start.
    pub guards: u64,
    /// Modules whose code is in the pack.
    pub packed: u64,
    /// Size of the pack.
    pub pack_bytes: u64,
}

impl MadeLanguage {
    fn of(part: &LanguageIndex) -> Self {
        Self {
            language: part.language,
            interpreter: part.interpreter.clone(),
            version: part.version.clone(),
            modules: part.modules,
            missing: part.missing,
            guards: part.guards.len() as u64,
            packed: part.sources.len() as u64,
            pack_bytes: part.pack_bytes,
        }
    }
}

/// Starts of the program, with and without the index.
struct Maker<'a> {
    command: &'a CommandLine,
    options: LaunchOptions,
    place: &'a IndexPlace,
    languages: Vec<Language>,
    variables: Vec<Variable>,
    /// Files that a plain start opened.
    opened: BTreeSet<PathBuf>,
}

/// Makes an index, and keeps it if the program is the same with it.
///
/// # Errors
/// If the program cannot be started or watched or is in no known language, or the index cannot be written. An earlier index is
/// unchanged then.
pub fn make(options: &MakeOptions, observer: &dyn Observer) -> Result<MakeOutcome, AppError> {
    // A directory that cannot hold an index is refused before the input is looked at.
    let place = IndexPlace::begin(&options.output)?;
    make_at(place, &options.command, &options.launching.options()?, options.shim, observer)
}

/// The same for those who have the options of a launch.
pub(crate) fn make_with(
    output: &Path,
    command: &CommandLine,
    launch: &LaunchOptions,
    shim: bool,
    observer: &dyn Observer,
) -> Result<MakeOutcome, AppError> {
    make_at(IndexPlace::begin(output)?, command, launch, shim, observer)
}

fn make_at(
    place: IndexPlace,
    command: &CommandLine,
    launch: &LaunchOptions,
    shim: bool,
    observer: &dyn Observer,
) -> Result<MakeOutcome, AppError> {
    if shim {
        preload::check(command)?;
    }
    let first = observed(command, launch, &[])?;
    check_start(command, &first)?;
    let languages = match shim {
        true => vec![Language::Any],
        false => interpreter::languages(command, &first.opened)?,
    };
    let opened = first.opened.clone();
    let mut maker = Maker { command, options: launch.clone(), place: &place, languages, variables: Vec::new(), opened };
    for language in maker.languages.clone() {
        prepare(&place, language)?;
        maker.variables.extend(variables_of(place.directory(), language)?);
    }
    let (_, recorded_logs) = maker.recorded()?;
    let mut notes = Vec::new();
    let parts = maker.fill(&recorded_logs, &mut notes)?;
    let (indexed, indexed_logs) = maker.recorded()?;
    let mut proof = Proof {
        plain: vec![first],
        plain_answers: vec![answers_of(&recorded_logs)],
        indexed,
        indexed_answers: answers_of(&indexed_logs),
        scope: Scope::of(place.directory(), &parts),
    };
    let (mut differences, mut unchecked) = proof.judge();
    if !differences.is_empty() || !unchecked.is_empty() {
        // Perhaps the program varies by itself.
        proof.plain.push(observed(command, &maker.options, &[])?);
        proof.plain_answers.push(answers_of(&maker.recorded_plainly()?));
        (differences, unchecked) = proof.judge();
    }
    for note in &notes {
        observer.note(note);
    }
    let calls = [proof.plain.first().map_or(0, |start| start.calls), proof.indexed.calls];
    let words = std::iter::once(&command.program).chain(&command.arguments);
    let (asked, opened) = (proof.indexed.asked.iter(), proof.indexed.opened.iter());
    let manifest = Manifest {
        command: words.map(|word| word.as_bytes().to_vec()).collect(),
        remote: RemoteNames::of(asked.map(PathBuf::as_path), opened.map(PathBuf::as_path), &parts, place.target()),
        languages: parts,
    };
    let made: Vec<MadeLanguage> = manifest.languages.iter().map(MadeLanguage::of).collect();
    let kept = differences.is_empty();
    let path = place.target().to_owned();
    if kept {
        for (_, _, log) in LOGS {
            fs::remove_file(place.directory().join(log)).context("cannot remove a temporary file")?;
        }
        place.finish(&manifest)?;
    }
    Ok(MakeOutcome { index: JsonPath::new(&path), path, kept, languages: made, calls, differences, unchecked, notes })
}

/// Writes what a recorded start needs in a language.
fn prepare(place: &IndexPlace, language: Language) -> Result<(), AppError> {
    match language {
        Language::Python => python::prepare(place),
        Language::Perl => perl::prepare(place),
        Language::Guile => guile::prepare(place),
        Language::Ruby => ruby::prepare(place),
        Language::Node => node::prepare(place),
        Language::Any => preload::prepare(place),
    }
}

/// A program that did not start shows none of its modules.
fn check_start(command: &CommandLine, start: &ObservedStart) -> Result<(), AppError> {
    if start.is_ready {
        return Ok(());
    }
    Err(anyhow!("`{command}` {}, so its modules are not known", start.start.end))
        .hint(|| "say when it counts as started with --ready, and give it more time with --time-limit")
}

impl Maker<'_> {
    /// A start with the index as it is now, and its logs. Without an index yet, it is a plain start that writes logs.
    fn recorded(&self) -> Result<(ObservedStart, Logs), AppError> {
        let mut environment = settings(&self.variables, &self.options);
        for (language, variable, name) in LOGS {
            self.place.write(name, b"")?;
            if self.languages.contains(&language) {
                environment.push((variable.into(), Some(self.place.directory().join(name).into_os_string())));
            }
        }
        let start = observed(self.command, &self.options, &environment)?;
        let mut logs = Logs::new();
        for (language, _, name) in LOGS {
            let log =
                fs::read(self.place.directory().join(name)).context("cannot read the log of the recorded start")?;
            logs.insert(language, log);
        }
        Ok((start, logs))
    }

    /// The logs of one more start without the index: it is put aside.
    fn recorded_plainly(&self) -> Result<Logs, AppError> {
        // Each language's directory without data is what `prepare` wrote.
        let own = |language: Language, end: &str| self.place.directory().join(format!("{}{end}", language.directory()));
        for &language in &self.languages {
            fs::rename(own(language, ""), own(language, ".aside")).context("cannot put the index aside")?;
            prepare(self.place, language)?;
        }
        let recorded = self.recorded();
        for &language in &self.languages {
            fs::remove_dir_all(own(language, "")).context("cannot remove a temporary directory")?;
            fs::rename(own(language, ".aside"), own(language, "")).context("cannot put the index back")?;
        }
        Ok(recorded?.1)
    }

    /// Fills the index from the logs of a recorded start. A language whose interpreter took no notice of us is left out.
    fn fill(&mut self, logs: &Logs, notes: &mut Vec<String>) -> Result<Vec<LanguageIndex>, AppError> {
        let mut parts = Vec::new();
        for &language in &self.languages {
            let events = log::parse(logs.get(&language).map(Vec::as_slice).unwrap_or_default());
            parts.extend(match language {
                Language::Python => python::fill(self.place, &events, &self.options, notes)?,
                Language::Perl => perl::fill(self.place, &events, notes)?,
                Language::Guile => guile::fill(self.place, &events, &self.options, notes)?,
                Language::Ruby => ruby::fill(self.place, &events, &self.options, notes)?,
                Language::Node => node::fill(self.place, &events, notes)?,
                Language::Any => preload::fill(self.place, &events, notes)?,
            });
        }
        if parts.is_empty() && self.languages.contains(&Language::Any) {
            return Err(preload::nothing_absent(self.command));
        }
        if parts.is_empty()
            && let Some(interpreter) = interpreter::with_own_rights(&self.opened)
        {
            let interpreter = printable(&interpreter);
            return Err(anyhow!(
                "`{interpreter}` gets rights that its caller has not (set-user-ID, set-group-ID or capabilities of its file), and takes no settings of its caller's"
            ))
            .hint(|| "give these rights otherwise, for example by `AmbientCapabilities=` of a systemd unit, and start a copy of the interpreter without them; or see `coldstart prefetch`");
        }
        if parts.is_empty() {
            // It writes its log itself, and only it knows when it cannot.
            let room = || {
                let place = printable(self.place.directory());
                format!("otherwise: is there room on the file system of `{place}`? The interpreter writes a log there")
            };
            let none = anyhow!("the interpreter of `{}` does not take an index", self.command);
            return Err(none).hint(|| SUPPORTED).hint(room);
        }
        let is_filled = |language: Language| parts.iter().any(|part| part.language == language);
        for language in std::mem::take(&mut self.languages) {
            match is_filled(language) {
                true => self.languages.push(language),
                false => {
                    fs::remove_dir_all(self.place.directory().join(language.directory()))
                        .context("cannot remove a part that is not used")?;
                }
            }
        }
        let kept: Result<Vec<_>, _> =
            self.languages.iter().map(|&language| variables_of(self.place.directory(), language)).collect();
        self.variables = kept?.into_iter().flatten().collect();
        Ok(parts)
    }
}

/// What each language's interpreters wrote into their log.
type Logs = BTreeMap<Language, Vec<u8>>;

/// What was found and missing, in all languages.
fn answers_of(logs: &Logs) -> Answers {
    // What the preloaded library answers was absent for the kernel when the index was made. Other names, such as those of temporary files,
    // differ from start to start.
    let of_interpreters = logs.iter().filter(|(language, _)| **language != Language::Any);
    of_interpreters.flat_map(|(_, log)| answers(log)).collect()
}

/// Which files count: those below the index's directories.
struct Scope {
    /// The index itself, which does not count.
    index: PathBuf,
    directories: BTreeSet<PathBuf>,
    packed: BTreeSet<PathBuf>,
}

impl Scope {
    fn of(index: &Path, parts: &[LanguageIndex]) -> Self {
        let real = |path: &Path| path.canonicalize().ok();
        let beside = |path: &Path| Some(real(path.parent()?)?.join(path.file_name()?));
        let guards = parts.iter().flat_map(|part| &part.guards);
        let sources = parts.iter().flat_map(|part| &part.sources);
        Self {
            index: index.to_owned(),
            directories: guards.filter_map(|guard| real(&guard.path)).collect(),
            // A source may be a link, beside which its cached code lies.
            packed: sources.flat_map(|source| [real(&source.path), beside(&source.path)]).flatten().collect(),
        }
    }

    fn within(&self, start: &ObservedStart) -> BTreeSet<PathBuf> {
        let others = start.opened.iter().filter(|file| !file.starts_with(&self.index));
        let sources = others.map(|file| python_index::source_of(file));
        sources.filter(|file| file.ancestors().any(|above| self.directories.contains(above))).collect()
    }
}

struct Proof {
    plain: Vec<ObservedStart>,
    plain_answers: Vec<Answers>,
    indexed: ObservedStart,
    indexed_answers: Answers,
    scope: Scope,
}

impl Proof {
    /// Differences, and what could not be compared.
    fn judge(&self) -> (Vec<String>, Vec<String>) {
        let answers: Vec<&Answers> = self.plain_answers.iter().collect();
        let mut differences = of_modules(&answers, &self.indexed_answers);
        let files: Vec<BTreeSet<PathBuf>> = self.plain.iter().map(|start| self.scope.within(start)).collect();
        let is_packed = |file: &Path| self.scope.packed.contains(file);
        differences.extend(of_files(&files, &self.scope.within(&self.indexed), &is_packed));
        let starts: Vec<_> = self.plain.iter().map(|start| start.start.clone()).collect();
        let (different, unchecked) = of_outputs(&starts, &self.indexed.start);
        differences.extend(different);
        (differences, unchecked)
    }
}

/// The command of a manifest, to be shown.
pub(super) fn command_of(manifest: &Manifest) -> String {
    let words = manifest.command.iter().map(|word| OsString::from_vec(word.clone()));
    CommandLine::from_words(words).map_or_else(|_| "?".to_owned(), |command| printable(Path::new(&command.to_string())))
}

impl MakeOutcome {
    /// `13 068 calls by name before, 1 100 after`.
    pub fn calls_in_words(&self) -> String {
        let [before, after] = self.calls;
        let after = number(after);
        plain(&format!("{} by name in a plain start, {after} with the index", counted(before, "call")))
    }
}
