//! From traced starts to a list of functions for a linker.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use coldstart_order::balanced::balanced;
use coldstart_order::first_use::first_use;
use coldstart_order::{
    Function, FunctionTable, InputSections, ListEntry, ListFormat, insert_into_script, link_map, object_sections,
    pages_of, section_fragment, shuffled, write_list,
};
use coldstart_output::{Inputs, OutputTarget};
use coldstart_profile::{JsonPath, printable};
use coldstart_symbols::LinkerSymbol;
use serde::Serialize;

use super::names::{Named, of_traced};
use super::traced::{Meant, TracedStart, check_builds};
use crate::error::{AppError, HintExt};
use crate::kinds;
use crate::reading;
use crate::text::{counted, plain, size};
use crate::writing::{try_out, write_file};

/// The share of called addresses that must be a function of the names' file. Below, these are not its names.
const ENOUGH_NAMED: f64 = 0.5;
/// How linkers align functions, in bytes.
const ALIGNMENT: u64 = 16;
/// In bytes: maps and archives of large programs have hundreds of megabytes.
const LARGEST_INPUT: u64 = 2 << 30;
/// The seed of the random order: the same list each time.
const SEED: u64 = 1;

/// Who takes the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linker {
    /// LLVM's linker: names of symbols.
    Lld,
    /// GNU ld: a script's fragment, or a whole script.
    Ld,
    /// LLVM's post-link optimiser: names of symbols.
    Bolt,
}

/// How functions are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FunctionOrder {
    /// By their first calls.
    FirstUse,
    /// So that each start touches few pages.
    Balanced,
    /// All functions of the object, at random: a control.
    Random,
}

/// What a list is made of.
#[derive(Clone, Debug)]
pub struct FunctionsOptions {
    /// Traces with first calls.
    pub traces: Vec<PathBuf>,
    /// The object by path, file name or soname; the program by default.
    pub object: Option<String>,
    /// A file with the object's names.
    pub symbols: Option<PathBuf>,
    /// Ask debuginfod servers for the names of a stripped object.
    pub debuginfod: bool,
    /// Who takes the list.
    pub linker: Linker,
    /// The order.
    pub order: FunctionOrder,
    /// List data on touched pages, too.
    pub data: bool,
    /// A map of GNU ld, of the traced build.
    pub map: Option<PathBuf>,
    /// Object files and archives.
    pub objects: Vec<PathBuf>,
    /// GNU ld's own script; the output is then a whole script.
    pub script: Option<PathBuf>,
    /// The list.
    pub output: PathBuf,
    /// Replace a file even if it is not a list.
    pub force: bool,
}

/// A list, and what it would do.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionsOutcome {
    /// The list.
    #[serde(skip)]
    pub output: PathBuf,
    #[serde(flatten)]
    shown: JsonPath,
    /// The ordered object.
    pub object: JsonPath,
    /// The file with the names.
    pub names_from: JsonPath,
    /// Its format.
    pub linker: Linker,
    /// The order.
    pub order: FunctionOrder,
    /// Listed functions.
    pub functions: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Lines with names or sections.
    pub lines: u64,
    /// Called addresses without a name: hand-written code, or code that a linker made.
    pub unnamed: u64,
    /// Size of called functions that are known to have no section of their own, in bytes; `None` without --map or --objects.
    pub cannot_move_bytes: Option<u64>,
    /// Listed cold parts, which are behind all others.
    pub cold_parts: u64,
    /// Listed names that change with the compiler.
    pub unstable_names: u64,
    /// Listed names that other functions have, too, which a linker moves with them.
    pub repeated_names: u64,
    /// Size of the functions that repeated names move besides, in bytes.
    pub repeated_bytes: u64,
    /// Listed functions that were merged with others of the same code.
    pub merged: u64,
    /// Listed variables.
    pub variables: u64,
    /// What each start touches.
    pub starts: Vec<StartPages>,
    /// Notes, a sentence each.
    pub notes: Vec<String>,
}

/// Pages of code that a start touches.
#[derive(Clone, Debug, Serialize)]
pub struct StartPages {
    /// Its trace.
    #[serde(skip)]
    pub path: PathBuf,
    #[serde(flatten)]
    trace: JsonPath,
    /// Functions that it calls.
    pub calls: u64,
    /// As traced.
    pub pages: u64,
    /// Predicted for the order.
    pub predicted: u64,
}

/// Makes a list and writes it.
///
/// # Errors
/// If a trace has no calls, the traces are of different builds, the names cannot be found or do not match, or the list cannot be
/// written. An existing list is unchanged then.
pub fn functions(options: &FunctionsOptions) -> Result<FunctionsOutcome, AppError> {
    let place = OutputTarget::new(&options.output, kinds::ORDER_LIST, options.force)?.not_over(options.inputs());
    try_out([&place])?;
    // What somebody names is read before the traces, which may be large.
    let sections = options.sections()?;
    let script = options.script.as_deref().map(|path| reading::read("the script ", path, LARGEST_INPUT)).transpose()?;
    let given = options.symbols.as_deref().map(Named::read).transpose()?;
    let meant = Meant::Named(options.object.as_deref());
    let mut starts = Vec::new();
    for trace in &options.traces {
        starts.push(TracedStart::read(trace, &meant, true)?);
    }
    check_builds(&starts)?;
    let first = starts.first().ok_or_else(|| AppError::new("no trace is given"))?;
    let named = of_traced(first, given, options.debuginfod)?;
    let table = FunctionTable::new(named.names.symbols.iter().filter(|symbol| symbol.is_function));

    let mut unnamed: HashSet<u64> = HashSet::new();
    let mut called: Vec<Vec<usize>> = Vec::new();
    for start in &starts {
        let calls = &start.calls.calls;
        unnamed.extend(calls.iter().filter(|address| table.starting_at(**address).is_none()));
        called.push(calls.iter().filter_map(|address| table.starting_at(*address)).collect());
    }
    let all: HashSet<usize> = called.iter().flatten().copied().collect();
    if (all.len() as f64) < ENOUGH_NAMED * all.len().saturating_add(unnamed.len()) as f64 {
        return Err(anyhow!(
            "`{}` does not name the traced code: of {} called addresses {} begin a function there",
            printable(&named.source),
            all.len().saturating_add(unnamed.len()),
            all.len()
        ))
        .hint(|| "name the unstripped file, or the debug file, of the traced build with --symbols");
    }

    let order = options.ordered(&called, &table);
    let listed: Vec<&Function> = order.iter().filter_map(|index| table.all().get(*index)).collect();
    let variables = if options.data { variables(&starts, &named.names.symbols) } else { Vec::new() };
    let mut notes = Vec::new();
    let comments = options.comments(&starts);
    let (content, lines) = match options.linker {
        Linker::Ld => {
            let chosen = sections.as_ref().map(|sections| sections_of(sections, &listed)).unwrap_or_default();
            let (fragment, count) = section_fragment(chosen.iter().map(String::as_str));
            if count == 0 {
                return Err(anyhow!("no called function has a section of its own"))
                    .hint(|| "compile with -ffunction-sections, and give --map or --objects of that build");
            }
            let content = match options.script.as_deref().zip(script) {
                Some((path, text)) => insert_into_script(&text, &fragment)
                    .with_context(|| format!("cannot use the script `{}`", printable(path)))?,
                None => fragment,
            };
            (content.into_bytes(), count)
        }
        Linker::Lld | Linker::Bolt => {
            let format = if options.linker == Linker::Lld { ListFormat::Lld } else { ListFormat::Bolt };
            let entries = listed.iter().map(|function| ListEntry::of(function, &table));
            let content = write_list(
                entries.chain(variables.iter().map(|name| ListEntry { names: vec![name] })),
                format,
                &comments,
            );
            let lines = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
            let lines = lines.count() as u64;
            (content, lines)
        }
    };
    write_file(&place, &content)?;

    let cannot_move_bytes = sections.as_ref().map(|sections| {
        let stays =
            |function: &&&Function| section_of(sections, function).is_none_or(|name| section_fragment([name]).1 == 0);
        all.iter()
            .filter_map(|index| table.all().get(*index))
            .collect::<Vec<_>>()
            .iter()
            .filter(stays)
            .map(|function| function.size)
            .sum()
    });
    let repeated = repeated(&listed, &table);
    if repeated.0 > 0 && options.linker != Linker::Ld {
        notes.push(format!(
            "{} in the list {} shared by other functions, which move with them: {}",
            plain(&counted(repeated.0, "name")),
            if repeated.0 == 1 { "is" } else { "are" },
            plain(&size(repeated.1))
        ));
    }
    let packed = packed(&listed, &table);
    let predicted =
        |index: usize| packed.get(&index).copied().or_else(|| table.all().get(index).map(|function| function.address));
    Ok(FunctionsOutcome {
        shown: JsonPath::new(&options.output),
        output: options.output.clone(),
        object: JsonPath::new(&first.object_path),
        names_from: JsonPath::new(&named.source),
        linker: options.linker,
        order: options.order,
        functions: listed.len() as u64,
        bytes: listed.iter().map(|function| function.size).sum(),
        lines,
        unnamed: unnamed.len() as u64,
        cannot_move_bytes,
        cold_parts: listed.iter().filter(|function| function.is_cold_part()).count() as u64,
        unstable_names: listed.iter().filter(|function| function.has_unstable_name()).count() as u64,
        repeated_names: repeated.0,
        repeated_bytes: repeated.1,
        merged: listed.iter().filter(|function| function.names.len() > 1).count() as u64,
        variables: variables.len() as u64,
        starts: starts
            .iter()
            .map(|start| StartPages {
                path: start.path.clone(),
                trace: JsonPath::new(&start.path),
                calls: start.calls.calls.len() as u64,
                pages: start.calls.code.pages.len() as u64,
                predicted: pages_of(&start.code(&table), &predicted),
            })
            .collect(),
        notes,
    })
}

impl FunctionsOptions {
    fn inputs(&self) -> Inputs {
        let mut inputs = Inputs::default();
        let named = |path: &PathBuf| printable(path);
        for path in &self.traces {
            inputs.add(format!("the trace `{}`", named(path)), path);
        }
        for path in self.symbols.iter().chain(&self.map).chain(&self.objects).chain(&self.script) {
            inputs.add(format!("the input `{}`", named(path)), path);
        }
        inputs
    }

    /// The input sections of the map and the objects; `None` without either.
    fn sections(&self) -> Result<Option<InputSections>, AppError> {
        if self.map.is_none() && self.objects.is_empty() {
            return Ok(None);
        }
        let mut sections = InputSections::default();
        if let Some(path) = &self.map {
            let text = reading::read("the map ", path, LARGEST_INPUT)?;
            sections.extend(link_map(&text).with_context(|| format!("cannot use the map `{}`", printable(path)))?);
        }
        for path in &self.objects {
            let bytes = reading::read("the object ", path, LARGEST_INPUT)?;
            sections.extend(object_sections(&bytes).with_context(|| format!("cannot use `{}`", printable(path)))?);
        }
        Ok(Some(sections))
    }

    /// Indices of functions; cold parts are behind all others.
    fn ordered(&self, called: &[Vec<usize>], table: &FunctionTable) -> Vec<usize> {
        if self.order == FunctionOrder::Random {
            return shuffled((0..table.all().len()).collect(), SEED);
        }
        let is_cold = |index: &usize| table.all().get(*index).is_some_and(Function::is_cold_part);
        let of = |cold: bool| {
            let starts: Vec<Vec<usize>> = called
                .iter()
                .map(|start| start.iter().copied().filter(|index| is_cold(index) == cold).collect())
                .collect();
            match self.order {
                FunctionOrder::Balanced => balanced(&starts),
                FunctionOrder::FirstUse | FunctionOrder::Random => first_use(&starts),
            }
        };
        let mut order = of(false);
        order.extend(of(true));
        order
    }

    fn comments(&self, starts: &[TracedStart]) -> Vec<String> {
        let first = starts.first();
        let object = first.map(|start| printable(&start.object_path)).unwrap_or_default();
        let id = first.and_then(|start| start.object.build_id.as_deref()).unwrap_or("none");
        vec![format!("of `{object}`, build id {id}")]
    }
}

/// The section of a function, by its address or its names.
fn section_of<'a>(sections: &'a InputSections, function: &Function) -> Option<&'a str> {
    sections.at(function.address).or_else(|| function.names.iter().find_map(|name| sections.of_symbol(name)))
}

fn sections_of(sections: &InputSections, listed: &[&Function]) -> Vec<String> {
    listed.iter().filter_map(|function| section_of(sections, function)).map(str::to_owned).collect()
}

/// How many listed names other functions have, too, and the size of those that are not listed.
fn repeated(listed: &[&Function], table: &FunctionTable) -> (u64, u64) {
    let by_name = table.by_name();
    let addresses: HashSet<u64> = listed.iter().map(|function| function.address).collect();
    let mut names: HashSet<&[u8]> = HashSet::new();
    let mut moved: HashMap<u64, u64> = HashMap::new();
    for name in listed.iter().flat_map(|function| ListEntry::of(function, table).names) {
        if table.occurrences(name) > 1 && names.insert(name) {
            let others = by_name.get(name).into_iter().flatten().filter_map(|index| table.all().get(*index));
            moved.extend(
                others.filter(|other| !addresses.contains(&other.address)).map(|other| (other.address, other.size)),
            );
        }
    }
    (names.len() as u64, moved.values().sum())
}

/// Addresses of listed functions one behind the other, from a page on that nothing else is in; functions that repeated names move
/// stand with them.
fn packed(listed: &[&Function], table: &FunctionTable) -> HashMap<usize, u64> {
    let by_name = table.by_name();
    let mut at = table.all().iter().map(Function::end).max().unwrap_or_default().next_multiple_of(1 << 20);
    let mut places = HashMap::new();
    for function in listed {
        let names = ListEntry::of(function, table).names;
        for index in names.iter().filter_map(|name| by_name.get(name)).flatten() {
            if let Some(function) = table.all().get(*index)
                && !places.contains_key(index)
            {
                places.insert(*index, at);
                at = at.saturating_add(function.size_in_layout(ALIGNMENT));
            }
        }
    }
    places
}

/// Names of variables on touched pages, in the order of the pages.
fn variables(starts: &[TracedStart], symbols: &[LinkerSymbol]) -> Vec<Vec<u8>> {
    let data: Vec<&LinkerSymbol> = symbols.iter().filter(|symbol| !symbol.is_function && symbol.size > 0).collect();
    let mut listed = HashSet::new();
    let mut names = Vec::new();
    for start in starts {
        for touch in &start.calls.data {
            let at = touch.page.saturating_mul(4096);
            let Some(address) = (if touch.zero_filled { Some(at) } else { start.object.address_of(at) }) else {
                continue;
            };
            let end = address.saturating_add(4096);
            let from = data.partition_point(|symbol| symbol.address.saturating_add(symbol.size) <= address);
            for symbol in data.iter().skip(from).take_while(|symbol| symbol.address < end) {
                if listed.insert(symbol.name.as_slice()) {
                    names.push(symbol.name.clone());
                }
            }
        }
    }
    names
}
