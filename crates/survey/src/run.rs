//! All shards that are missing, on all processors.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use coldstart_app::observer::Observer;
use coldstart_app::survey::{Limits, Options, Outcome};
use coldstart_tables::ProblemRow;
use rayon::prelude::*;

use crate::archive::Scratch;
use crate::error::SurveyError;
use crate::items::{Item, Items, list};
use crate::look::{Looker, Rows};
use crate::manifest::Manifest;
use crate::root::RootSystem;
use crate::shard::{Record, ShardPlace, clean_up};
use crate::source::{Source, SourceKind};

/// Counts the rows of a shard.
fn add(outcome: &mut Outcome, record: &Record) {
    outcome.objects = outcome.objects.saturating_add(record.rows_of("objects"));
    outcome.findings = outcome.findings.saturating_add(record.rows_of("findings"));
    outcome.problems = outcome.problems.saturating_add(record.rows_of("problems"));
}

/// A shard's files.
#[derive(Debug, Default)]
struct Shard<'a> {
    items: Vec<&'a Item>,
    problems: Vec<ProblemRow>,
}

impl Shard<'_> {
    /// A digest of what it is made of.
    fn inputs(&self, sources: &[Source], limits: &Limits) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("{limits:?}").as_bytes());
        for item in &self.items {
            item.identify(sources, &mut hasher);
        }
        for problem in &self.problems {
            hasher.update(problem.problem.as_bytes());
        }
        hasher.finalize().to_string()
    }
}

/// Makes the shards that are missing.
///
/// # Errors
/// If a source cannot be read at all, the directory holds something else, or a table cannot be written.
pub fn survey(options: &Options, observer: &dyn Observer) -> Result<Outcome, SurveyError> {
    let sources = options.what.iter().map(|typed| Source::of(typed)).collect::<Result<Vec<_>, _>>()?;
    let directory = options.directory.as_path();
    prepare(directory)?;
    let own = directory.canonicalize().map_err(SurveyError::io("read", directory))?;
    let items = list(&sources, options.one_file_system, &own);
    let manifest = Manifest::of(&sources, items.all.len() as u64, archive_bytes(&items, &sources)).agree(directory)?;
    let shards = cut(&items, &sources, &manifest);
    let mine = |number: u32| options.part.is_none_or(|part| part.has(number));
    let mut outcome = Outcome { shards: manifest.shards.into(), files: items.all.len() as u64, ..Outcome::default() };
    let mut missing = Vec::new();
    for (number, shard) in shards.iter().filter(|(number, _)| mine(**number)) {
        let place = ShardPlace::new(directory, *number);
        let inputs = shard.inputs(&sources, &options.limits);
        match place.finished(&inputs) {
            Some(record) => {
                outcome.kept = outcome.kept.saturating_add(1);
                add(&mut outcome, &record);
            }
            None => missing.push((place, inputs, shard)),
        }
    }
    let done = if missing.is_empty() { Vec::new() } else { make(missing, &sources, options, observer)? };
    for record in &done {
        match record {
            Some(record) => {
                outcome.made = outcome.made.saturating_add(1);
                add(&mut outcome, record);
            }
            None => outcome.elsewhere = outcome.elsewhere.saturating_add(1),
        }
    }
    if options.part.is_none() && outcome.elsewhere == 0 {
        clean_up(directory)?;
    }
    Ok(outcome)
}

/// Makes these shards; `None` for those that another process is making.
fn make(
    missing: Vec<(ShardPlace, String, &Shard<'_>)>,
    sources: &[Source],
    options: &Options,
    observer: &dyn Observer,
) -> Result<Vec<Option<Record>>, SurveyError> {
    let roots = sources.iter().map(|source| match source.kind {
        SourceKind::Root => RootSystem::open(&source.path).map(Some),
        _ => Ok(None),
    });
    let roots = roots.collect::<Result<Vec<_>, _>>()?;
    let scratch = options.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let looker = Looker {
        sources,
        roots: &roots,
        limits: options.limits,
        scratch: Scratch::new(scratch),
        reader: options.archive_reader.as_deref(),
    };
    observer.begin(Some(missing.iter().map(|(_, _, shard)| shard.items.len()).sum()));
    let waiting = Mutex::new(VecDeque::from(missing));
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((place, inputs, shard)) = next else { return };
            let record = one(&place, inputs, shard, &looker, observer);
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if record.is_err() {
                waiting.clear();
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        }
    };
    // Not rayon's threads, which would begin other shards while they wait for parts of this one, and hold the rows of many. Two,
    // so that the tables of one are written while the files of another are looked at.
    thread::scope(|scope| {
        for _ in 0..2 {
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                work();
            }
        }
    });
    observer.end();
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect()
}

/// Makes one shard; `None` if another process is making it.
fn one(
    place: &ShardPlace,
    inputs: String,
    shard: &Shard<'_>,
    looker: &Looker<'_>,
    observer: &dyn Observer,
) -> Result<Option<Record>, SurveyError> {
    let Some(claim) = place.claim()? else { return Ok(None) };
    // Another process may have made it since it was looked for.
    if let Some(record) = place.finished(&inputs) {
        return Ok(Some(record));
    }
    let mut rows = Rows { problems: shard.problems.clone(), ..Rows::default() };
    let looks: Vec<Rows> = shard
        .items
        .par_iter()
        .map(|item| {
            observer.step();
            looker.look(item)
        })
        .collect();
    looks.into_iter().for_each(|look| rows.append(look));
    claim.write(inputs, &rows).map(Some)
}

/// The directory exists, and is empty or a survey's.
fn prepare(directory: &Path) -> Result<(), SurveyError> {
    std::fs::create_dir_all(directory).map_err(SurveyError::io("write", directory))?;
    let mut entries = std::fs::read_dir(directory).map_err(SurveyError::io("read", directory))?;
    if entries.next().is_some() && !directory.join(crate::manifest::MANIFEST).exists() {
        return Err(SurveyError::Directory {
            path: directory.to_owned(),
            reason: "it is not empty, and not a survey".to_owned(),
            hint: "name a new directory",
        });
    }
    Ok(())
}

fn archive_bytes(items: &Items, sources: &[Source]) -> u64 {
    let is_archive = |item: &Item| match sources.get(item.source).map(|source| &source.kind) {
        Some(SourceKind::Root | SourceKind::Object) | None => false,
        Some(SourceKind::Archive(_) | SourceKind::Layout(_)) => true,
        Some(SourceKind::Directory) => {
            let extension = item.path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            ["deb", "udeb", "rpm", "AppImage", "snap", "squashfs"].contains(&extension)
        }
    };
    items.all.iter().filter(|item| is_archive(item)).map(|item| item.bytes).fold(0, u64::saturating_add)
}

/// All shards, also those without files, so that each process knows when the survey is complete.
fn cut<'a>(items: &'a Items, sources: &[Source], manifest: &Manifest) -> BTreeMap<u32, Shard<'a>> {
    let mut shards: BTreeMap<u32, Shard<'a>> = (0..manifest.shards).map(|number| (number, Shard::default())).collect();
    for item in &items.all {
        shards.entry(item.shard(sources, manifest.shards)).or_default().items.push(item);
    }
    // Directories that cannot be read belong to no file.
    if let Some(first) = shards.get_mut(&0) {
        first.problems = items.problems.clone();
    }
    shards
}
