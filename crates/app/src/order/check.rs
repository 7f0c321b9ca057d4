//! Whether a build in a new order touches fewer pages: predicted from traces of the old one, and observed.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_launch::CommandLine;
use coldstart_order::{
    CodeUse, Function, FunctionTable, ObjectCalls, ReadList, longest_run, pages_of, read_list, shuffled, symbol_changes,
};
use coldstart_profile::trace::{Layer, StartState};
use coldstart_profile::{JsonPath, printable};
use coldstart_symbols::LinkerNames;
use coldstart_trace::start::{PreparedTrace, TraceOptions};
use serde::Serialize;

use super::names::complete;
use super::traced::{Meant, TracedStart};
use crate::error::{AppError, HintExt};
use crate::launching::Launching;
use crate::reading;

/// The share of a list's names that must exist: fewer, and it is another program's list.
const ENOUGH_FOUND: f64 = 0.9;
/// Random orders whose pages are averaged.
const RANDOM_ORDERS: u64 = 5;
/// How linkers align functions, in bytes.
const ALIGNMENT: u64 = 16;
/// In bytes.
const LARGEST_LIST: u64 = 1 << 30;

/// What is compared.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// The list.
    pub list: PathBuf,
    /// The build without it.
    pub before: PathBuf,
    /// The build with it.
    pub after: PathBuf,
    /// A build in a random order.
    pub control: Option<PathBuf>,
    /// Traces of the build without it, of starts that the list was made of.
    pub traces: Vec<PathBuf>,
    /// Traces of the build without it, of other starts.
    pub held_out: Vec<PathBuf>,
    /// A program to start.
    pub program: Option<StartedProgram>,
}

/// A program to start with each build.
#[derive(Clone, Debug)]
pub struct StartedProgram {
    /// The program and its arguments; `{}` stands for the build.
    pub words: Vec<OsString>,
    /// How it is started and waited for.
    pub launching: Launching,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct CheckOutcome {
    /// Whether the order is a gain.
    pub gain: bool,
    /// Why it is none, a clause each.
    pub reasons: Vec<String>,
    /// Names in the list.
    pub listed: u64,
    /// Those that the build without it has.
    pub found: u64,
    /// Names with the same size in both builds.
    pub same: u64,
    /// Names with another size.
    pub resized: u64,
    /// Names only in the build without it.
    pub removed: u64,
    /// Names only in the build with it.
    pub added: u64,
    /// Size of the code before and after, in bytes.
    pub code_bytes: [u64; 2],
    /// The longest run of listed functions at ascending addresses, before and after.
    pub longest_run: [u64; 2],
    /// From the first listed function to the end of the last, before and after, in bytes.
    pub span: [u64; 2],
    /// What traced starts are predicted to touch.
    pub predicted: Vec<PredictedPages>,
    /// What a start touched.
    pub observed: Option<ObservedPages>,
}

/// Pages of code of a traced start.
#[derive(Clone, Debug, Serialize)]
pub struct PredictedPages {
    /// Its trace.
    #[serde(skip)]
    pub path: PathBuf,
    #[serde(flatten)]
    trace: JsonPath,
    /// Whether the list was made without it.
    pub held_out: bool,
    /// As traced.
    pub before: u64,
    /// Predicted for the build in the new order.
    pub after: u64,
    /// Predicted for a random order, on average.
    pub random: u64,
}

/// Pages of code that a start touched.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ObservedPages {
    /// With the build without the list.
    pub before: u64,
    /// With the build in the new order.
    pub after: u64,
    /// With the build in a random order.
    pub control: Option<u64>,
}

/// Compares two builds.
///
/// # Errors
/// If a file cannot be read or has no names, a trace is of another build, or the program cannot be started.
pub fn check(options: &CheckOptions) -> Result<CheckOutcome, AppError> {
    let text = reading::read("the list ", &options.list, LARGEST_LIST)?;
    let list = read_list(&text).with_context(|| format!("cannot use the list `{}`", printable(&options.list)))?;
    let (before, after) = (Build::read(&options.before)?, Build::read(&options.after)?);
    let list = before.listed_functions(&list);
    let changes = symbol_changes(&before.table, &after.table);
    let found = before.found(&list);
    let mut outcome = CheckOutcome {
        gain: false,
        reasons: Vec::new(),
        listed: list.len() as u64,
        found,
        same: changes.same,
        resized: changes.resized,
        removed: changes.removed,
        added: changes.added,
        code_bytes: [before.code_bytes(), after.code_bytes()],
        longest_run: [before.run(&list), after.run(&list)],
        span: [before.span(&list), after.span(&list)],
        predicted: Vec::new(),
        observed: None,
    };
    for (paths, held_out) in [(&options.traces, false), (&options.held_out, true)] {
        for path in paths {
            outcome.predicted.push(predict(path, held_out, &before, &after)?);
        }
    }
    if let Some(program) = &options.program {
        let control = options.control.as_deref().map(|control| program.pages(control)).transpose()?;
        outcome.observed = Some(ObservedPages {
            before: program.pages(&options.before)?,
            after: program.pages(&options.after)?,
            control,
        });
    }
    outcome.judge(changes.is_same());
    Ok(outcome)
}

impl CheckOutcome {
    fn judge(&mut self, is_same: bool) {
        if (self.found as f64) < ENOUGH_FOUND * self.listed as f64 {
            self.reasons.push(format!("only {} of {} listed names exist", self.found, self.listed));
        }
        if !is_same {
            let (resized, removed, added) = (self.resized, self.removed, self.added);
            self.reasons.push(format!(
                "the builds differ in more than the order: {resized} names with another size, {removed} gone, {added} new"
            ));
        }
        let [run_before, run_after] = self.longest_run;
        // Where the old build has them in order already, they must have come together.
        let [span_before, span_after] = self.span;
        if run_after <= run_before && span_after >= span_before {
            self.reasons
                .push(format!("the functions are not in the list's order: {run_after} in a row, {run_before} before"));
        }
        let sum = |pages: fn(&PredictedPages) -> u64| self.predicted.iter().map(pages).sum::<u64>();
        if let Some(observed) = self.observed {
            if observed.after >= observed.before {
                self.reasons
                    .push(format!("the start touches {} pages of code, {} before", observed.after, observed.before));
            }
            if let Some(control) = observed.control.filter(|control| observed.after >= *control) {
                self.reasons.push(format!("a random order is as good: {control} pages"));
            }
        } else if !self.predicted.is_empty() && sum(|pages| pages.after) >= sum(|pages| pages.before) {
            let (after, before) = (sum(|pages| pages.after), sum(|pages| pages.before));
            self.reasons.push(format!("the starts are predicted to touch {after} pages of code, {before} before"));
        }
        self.gain = self.reasons.is_empty();
    }
}

/// A build with its functions.
struct Build {
    names: LinkerNames,
    table: FunctionTable,
}

impl Build {
    fn read(path: &Path) -> Result<Self, AppError> {
        let names = complete(path)?;
        let table = FunctionTable::new(names.symbols.iter().filter(|symbol| symbol.is_function));
        Ok(Self { names, table })
    }

    fn symbols(&self) -> BTreeSet<&[u8]> {
        self.names.symbols.iter().map(|symbol| symbol.name.as_slice()).collect()
    }

    /// The names of a list's functions in it.
    fn listed_functions(&self, list: &ReadList) -> Vec<Vec<u8>> {
        let names = self.symbols();
        list.functions(|name| names.contains(name))
    }

    /// Listed names that are a symbol of it.
    fn found(&self, list: &[Vec<u8>]) -> u64 {
        let names = self.symbols();
        list.iter().filter(|name| names.contains(name.as_slice())).count() as u64
    }

    fn code_bytes(&self) -> u64 {
        self.names.sections.iter().filter(|section| section.is_executable).map(|section| section.size).sum()
    }

    /// The longest run of listed functions at ascending addresses. Names of several functions tell no order.
    fn run(&self, list: &[Vec<u8>]) -> u64 {
        longest_run(self.listed(list).into_iter().map(|function| function.address))
    }

    /// From the first of them to the end of the last, in bytes.
    fn span(&self, list: &[Vec<u8>]) -> u64 {
        let listed = self.listed(list);
        let first = listed.iter().map(|function| function.address).min().unwrap_or_default();
        listed.iter().map(|function| function.end()).max().unwrap_or_default().saturating_sub(first)
    }

    fn listed(&self, list: &[Vec<u8>]) -> Vec<&Function> {
        let by_name = self.table.by_name();
        let function = |name: &Vec<u8>| match by_name.get(name.as_slice()).map(Vec::as_slice) {
            Some([index]) => self.table.all().get(*index),
            _ => None,
        };
        list.iter().filter_map(function).collect()
    }
}

fn predict(path: &Path, held_out: bool, before: &Build, after: &Build) -> Result<PredictedPages, AppError> {
    let start = TracedStart::read(path, &Meant::Build(&before.names), false)?;
    let used = start.code(&before.table);
    let places = matched(&before.table, &after.table);
    Ok(PredictedPages {
        path: path.to_owned(),
        trace: JsonPath::new(path),
        held_out,
        before: start.calls.code.pages.len() as u64,
        after: pages_of(&used, &|index: usize| places.get(&index).copied()),
        random: random_pages(&used, &before.table),
    })
}

/// The new address of each function: by a name that only it has; of several with one name, by size, then in order.
fn matched(before: &FunctionTable, after: &FunctionTable) -> HashMap<usize, u64> {
    let by_name = after.by_name();
    let old_by_name = before.by_name();
    let mut places = HashMap::new();
    for (index, function) in before.all().iter().enumerate() {
        let place = function.names.iter().find_map(|name| {
            let of_size = |indices: &[usize], table: &FunctionTable| -> Vec<usize> {
                let has_size =
                    |index: &&usize| table.all().get(**index).is_some_and(|other| other.size == function.size);
                indices.iter().filter(has_size).copied().collect()
            };
            let new = of_size(by_name.get(name.as_slice())?, after);
            let old = of_size(old_by_name.get(name.as_slice())?, before);
            let nth = old.iter().position(|other| *other == index)?;
            after.all().get(*new.get(nth).or(new.first())?).map(|function| function.address)
        });
        if let Some(place) = place {
            places.insert(index, place);
        }
    }
    places
}

/// The mean over random orders of all functions, one behind the other.
fn random_pages(used: &CodeUse, table: &FunctionTable) -> u64 {
    let mut sum = 0_u64;
    for seed in 0..RANDOM_ORDERS {
        let mut at = 0_u64;
        let mut places = vec![0_u64; table.all().len()];
        for index in shuffled((0..table.all().len()).collect(), seed) {
            if let (Some(place), Some(function)) = (places.get_mut(index), table.all().get(index)) {
                *place = at;
                at = at.saturating_add(function.size_in_layout(ALIGNMENT));
            }
        }
        sum = sum.saturating_add(pages_of(used, &|index: usize| places.get(index).copied()));
    }
    sum / RANDOM_ORDERS
}

impl StartedProgram {
    /// Pages of a build's code that a start with it touches.
    fn pages(&self, build: &Path) -> Result<u64, AppError> {
        let path = build.canonicalize().with_context(|| format!("cannot use `{}`", printable(build)))?;
        let mut words = self.words.iter().map(|word| filled_in(word, &path));
        let command = CommandLine { program: words.next().unwrap_or_default(), arguments: words.collect() };
        let launch = self.launching.options()?;
        let options = TraceOptions {
            layers: [Layer::Phases, Layer::Pages].into(),
            readiness: launch.readiness.to_string(),
            launch,
            state: StartState::AsIs,
            functions_everywhere: false,
        };
        let trace = PreparedTrace::new(&command, &options)?.record(&|_, _| false)?.trace;
        let file_of = |object: &&coldstart_profile::trace::TracedObject| {
            trace.file(object.file).is_some_and(|file| file.path == path)
        };
        let Some(object) = trace.objects.iter().find(file_of) else {
            return Err(anyhow!("the program does not load `{}`", printable(&path))).hint(
                || "write `{}` where the program or library belongs: `-- {} --version`, `-- env LD_PRELOAD={} program`",
            );
        };
        Ok(ObjectCalls::of(&trace.events, object.file).code.pages.len() as u64)
    }
}

/// The word with the path in the place of each `{}`.
fn filled_in(word: &OsStr, path: &Path) -> OsString {
    let mut filled = Vec::new();
    let mut rest = word.as_bytes();
    while let Some(at) = rest.windows(2).position(|pair| pair == b"{}") {
        filled.extend_from_slice(rest.get(..at).unwrap_or_default());
        filled.extend_from_slice(path.as_os_str().as_bytes());
        rest = rest.get(at.saturating_add(2)..).unwrap_or_default();
    }
    filled.extend_from_slice(rest);
    OsString::from_vec(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_is_filled_in_everywhere() {
        let filled = |word: &str| filled_in(OsStr::new(word), Path::new("/a b"));
        assert_eq!(filled("{}"), "/a b");
        assert_eq!(filled("LD_PRELOAD={}:{}x"), "LD_PRELOAD=/a b:/a bx");
        assert_eq!(filled("{"), "{");
    }
}
