//! `coldstart ldcache check`: what a loader would not find, and what has changed since.

use anyhow::Context;
use coldstart_loader::cache::LdSoCache;
use coldstart_startup::cache::parent;
use serde::Serialize;

use super::check_files::compare_with_files;
use super::{Place, SCHEMA, levels, read_file, shown};
use crate::args::ldcache::CheckArgs;
use crate::commands::observer::Terminal;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::path::{JsonPath, printable};
use crate::output::text::{counted, plain};
use crate::output::{self, json};
use coldstart_app::starting::open_root;

/// Lines that are printed; `--json` has them all.
const MOST_TOLD: usize = 100;

/// Something that is wrong, or worth knowing.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    /// A word for scripts: `gone`, `soname`, `order`, ...
    pub(super) kind: &'static str,
    /// Whether it makes the answer "no".
    pub(super) is_fault: bool,
    /// The name that is looked up; none when the whole file is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(flatten)]
    pub(super) path: Option<Place>,
    pub(super) message: String,
}

#[derive(Serialize)]
struct Checked {
    action: &'static str,
    #[serde(flatten)]
    file: JsonPath,
    entries: usize,
    is_well: bool,
    findings: Vec<Finding>,
}

pub(super) fn run(args: &CheckArgs) -> Result<Exit, CliError> {
    let levels = levels(&args.hwcaps)?;
    let bytes = read_file(&args.file)?;
    let (cache, damages) = LdSoCache::parse_damaged(&bytes)
        .with_context(|| format!("cannot check `{}`", printable(&args.file)))
        .hint(|| "name a file that ldconfig or `coldstart ldcache write` wrote")?;
    let mut findings: Vec<Finding> = damages
        .iter()
        .map(|damage| Finding { kind: "damaged", is_fault: true, name: None, path: None, message: damage.to_string() })
        .collect();
    look_at_order(&cache, &mut findings);
    if !args.only_cache {
        let root = open_root(args.sysroot.as_deref(), &Terminal)?;
        compare_with_files(&cache, &root, levels.as_ref(), &mut findings);
    }
    answer(args, Answer { entries: cache.entries().len(), noun: ["entry", "entries"], findings })
}

/// What was found in a cache or a note.
pub(super) struct Answer {
    pub(super) entries: usize,
    /// What one entry is called, and several.
    pub(super) noun: [&'static str; 2],
    pub(super) findings: Vec<Finding>,
}

/// Tells what was found, and answers whether all is well.
pub(super) fn answer(args: &CheckArgs, answer: Answer) -> Result<Exit, CliError> {
    let is_well = !answer.findings.iter().any(|finding| finding.is_fault);
    if args.json {
        let (file, entries, findings) = (JsonPath::new(&args.file), answer.entries, answer.findings);
        json::print(SCHEMA, &Checked { action: "check", file, entries, is_well, findings })?;
    } else {
        tell(args, &answer)?;
    }
    Ok(if is_well { Exit::Done } else { Exit::No })
}

/// What the cache itself tells.
fn look_at_order(cache: &LdSoCache, findings: &mut Vec<Finding>) {
    for entry in cache.order_faults() {
        let message = "a search does not find the name, as it stands out of order".to_owned();
        findings.push(Finding::of("order", true, entry.name, entry.path, message));
    }
    for entry in cache.level_faults() {
        let message = "it is for a processor level whose number the cache has no name for".to_owned();
        findings.push(Finding::of("level", true, entry.name, entry.path, message));
    }
    for entry in cache.repeated() {
        findings.push(Finding::of("repeated", true, entry.name, entry.path, "it is entered twice".to_owned()));
    }
    for shadowed in cache.shadowed().filter(|shadowed| shadowed.entry.path != shadowed.by.path) {
        let (entry, by) = (shadowed.entry, shadowed.by);
        // One folder cannot hold two libraries of one name, so `ldconfig` does not write such.
        let is_fault = entry.name != by.name || parent(entry.path) == parent(by.path);
        let message = format!("it is never taken: `{}` stands before it", shown(by.path));
        findings.push(Finding::of("hidden", is_fault, entry.name, entry.path, message));
    }
}

impl Finding {
    pub(super) fn of(kind: &'static str, is_fault: bool, name: &[u8], path: &[u8], message: String) -> Self {
        let path = (!path.is_empty()).then(|| Place::new(path));
        Self { kind, is_fault, name: Some(shown(name)), path, message }
    }
}

fn tell(args: &CheckArgs, answer: &Answer) -> Result<(), CliError> {
    let findings = &answer.findings;
    let line = |finding: &Finding| {
        let what = match (&finding.name, &finding.path) {
            (Some(name), Some(path)) => format!("{name} => {path}: "),
            (Some(name), None) => format!("{name}: "),
            _ => String::new(),
        };
        format!("{}: {what}{}\n", if finding.is_fault { finding.kind } else { "note" }, finding.message)
    };
    // Faults first.
    let (faults, notes): (Vec<&Finding>, Vec<&Finding>) = findings.iter().partition(|finding| finding.is_fault);
    let mut text: String = faults.iter().chain(&notes).take(MOST_TOLD).map(|finding| line(finding)).collect();
    if findings.len() > MOST_TOLD {
        text.push_str(&format!("... and {} more; --json has them all\n", findings.len() - MOST_TOLD));
    }
    let verdict = match faults.len() {
        0 => "all is well".to_owned(),
        count => plain(&counted(count as u64, "fault")),
    };
    let (count, [one, several]) = (answer.entries, answer.noun);
    let noun = if count == 1 { one } else { several };
    text.push_str(&format!("{}: {count} {noun}, {verdict}\n", printable(&args.file)));
    output::print(&text)
}
