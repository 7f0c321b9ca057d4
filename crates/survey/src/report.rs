//! A survey's tables summed up: by fix, by package.
//!
//! Not obvious: tables are read column by column in portions, and only sums are kept, so that a distribution's survey needs some megabytes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use coldstart_app::survey::{FixGain, Gain, MOST_PACKAGES, MOST_PROBLEMS, PackageGain, Problem, Report, Totals};
use coldstart_tables::{FindingRow, ModuleRow, ObjectRow, ProblemRow, Row};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::columns::Columns;
use crate::error::SurveyError;
use crate::manifest::Manifest;
use crate::shard::complete_shards;

/// Sums up a survey.
///
/// # Errors
/// If it is not a survey, or a table cannot be read.
pub fn report(directory: &Path) -> Result<Report, SurveyError> {
    let manifest = Manifest::read(directory)?;
    let shards = complete_shards(directory, manifest.shards);
    let mut sums = Sums::default();
    for shard in &shards {
        sums.shard(shard)?;
    }
    let mut report = Report {
        sources: manifest.sources.into_iter().map(|source| source.name).collect(),
        complete_shards: shards.len() as u64,
        shards: manifest.shards.into(),
        ..Report::default()
    };
    sums.into_report(&mut report);
    Ok(report)
}

#[derive(Debug, Default)]
struct Sums {
    totals: Totals,
    fixes: HashMap<(String, String), OfFix>,
    packages: HashMap<Option<String>, OfPackage>,
    modules: BTreeMap<String, u64>,
    problems: Vec<Problem>,
}

#[derive(Debug, Default)]
struct OfFix {
    findings: u64,
    objects: u64,
    packages: HashSet<String>,
    saves: Gain,
}

#[derive(Debug, Default)]
struct OfPackage {
    gain: PackageGain,
    /// Weights by fix.
    fixes: HashMap<String, u64>,
}

impl Sums {
    fn shard(&mut self, shard: &Path) -> Result<(), SurveyError> {
        read::<ObjectRow>(
            shard,
            &[
                "package",
                "kind",
                "bytes",
                "relocations",
                "relocation_bytes",
                "packed_relocations",
                "initialisers",
                "private_pages",
                "failed_probes",
            ],
            |columns| {
                for row in 0..columns.rows() {
                    self.object(columns, row);
                }
            },
        )?;
        let mut of_object = Seen::default();
        read::<FindingRow>(
            shard,
            &[
                "source",
                "archive",
                "path",
                "package",
                "fix",
                "fix_by",
                "saves_bytes",
                "saves_read_pages",
                "saves_private_pages",
                "saves_seeks",
                "saves_lookups",
                "saves_probes",
                "weight",
            ],
            |columns| {
                for row in 0..columns.rows() {
                    self.finding(columns, row, &mut of_object);
                }
            },
        )?;
        read::<ModuleRow>(shard, &["package", "language"], |columns| {
            for row in 0..columns.rows() {
                let language = columns.text("language", row).unwrap_or_default();
                *self.modules.entry(language.to_owned()).or_default() += 1;
                let package = self.package(columns.text("package", row));
                package.gain.modules = package.gain.modules.saturating_add(1);
            }
        })?;
        read::<ProblemRow>(shard, &["source", "archive", "path", "problem"], |columns| {
            for row in 0..columns.rows() {
                self.totals.problems = self.totals.problems.saturating_add(1);
                if self.problems.len() < MOST_PROBLEMS {
                    self.problems.push(problem(columns, row));
                }
            }
        })
    }

    fn package(&mut self, name: Option<&str>) -> &mut OfPackage {
        self.packages.entry(name.map(str::to_owned)).or_default()
    }

    fn object(&mut self, columns: &Columns<'_>, row: usize) {
        let number = |name| columns.number(name, row);
        let totals = &mut self.totals;
        let is_program = columns.text("kind", row).is_some_and(|kind| kind != "shared-object");
        for (sum, value) in [
            (&mut totals.objects, 1),
            (&mut totals.programs, is_program.into()),
            (&mut totals.file_bytes, number("bytes")),
            (&mut totals.relocations, number("relocations")),
            (&mut totals.relocation_bytes, number("relocation_bytes")),
            (&mut totals.packed_objects, u64::from(number("packed_relocations") > 0)),
            (&mut totals.initialisers, number("initialisers")),
            (&mut totals.private_pages, number("private_pages")),
            (&mut totals.failed_probes, number("failed_probes")),
        ] {
            *sum = sum.saturating_add(value);
        }
        let bytes = number("bytes");
        let package = &mut self.package(columns.text("package", row)).gain;
        package.objects = package.objects.saturating_add(1);
        package.file_bytes = package.file_bytes.saturating_add(bytes);
    }

    fn finding(&mut self, columns: &Columns<'_>, row: usize, seen: &mut Seen) {
        self.totals.findings = self.totals.findings.saturating_add(1);
        let gain = gain(columns, row);
        let name = columns.text("package", row);
        let package = self.package(name);
        add(&mut package.gain.saves, &gain);
        let Some(fix) = columns.text("fix", row) else { return };
        let of_fix = package.fixes.entry(fix.to_owned()).or_default();
        *of_fix = of_fix.saturating_add(gain.weight);
        let by = columns.text("fix_by", row).unwrap_or_default().to_owned();
        let sum = self.fixes.entry((fix.to_owned(), by)).or_default();
        sum.findings = sum.findings.saturating_add(1);
        if seen.is_new(columns, row, fix) {
            sum.objects = sum.objects.saturating_add(1);
        }
        if let Some(name) = name.filter(|name| !sum.packages.contains(*name)) {
            sum.packages.insert(name.to_owned());
        }
        add(&mut sum.saves, &gain);
    }

    fn into_report(self, report: &mut Report) {
        report.totals = self.totals;
        report.modules = self.modules;
        report.problems = self.problems;
        report.fixes = self
            .fixes
            .into_iter()
            .map(|((fix, by), sum)| FixGain {
                fix,
                by,
                findings: sum.findings,
                objects: sum.objects,
                packages: sum.packages.len() as u64,
                saves: sum.saves,
            })
            .collect();
        report.fixes.sort_by(|one, other| (other.saves.weight, &one.fix).cmp(&(one.saves.weight, &other.fix)));
        let with_objects = self.packages.iter().filter(|(name, sum)| name.is_some() && sum.gain.objects > 0);
        report.all_packages = with_objects.count() as u64;
        report.packages = self.packages.into_iter().map(|(name, sum)| sum.into_gain(name)).collect();
        report.packages.sort_by(|one, other| {
            (other.saves.weight, other.modules, &one.package).cmp(&(one.saves.weight, one.modules, &other.package))
        });
        report.packages.truncate(MOST_PACKAGES);
    }
}

impl OfPackage {
    fn into_gain(self, name: Option<String>) -> PackageGain {
        // Of equal ones the first by name, so that the report is always the same.
        let best = self.fixes.into_iter().filter(|(_, weight)| *weight > 0);
        let best = best.max_by(|one, other| (one.1, &other.0).cmp(&(other.1, &one.0)));
        PackageGain { package: name, best_fix: best.map(|(fix, _)| fix), ..self.gain }
    }
}

/// Fixes of the object whose findings were read last: the findings of one object follow one another.
#[derive(Debug, Default)]
struct Seen {
    object: String,
    fixes: HashSet<String>,
}

impl Seen {
    /// Whether this is the object's first finding with this fix.
    fn is_new(&mut self, columns: &Columns<'_>, row: usize, fix: &str) -> bool {
        let object = place(columns, row);
        if object != self.object {
            self.object = object;
            self.fixes.clear();
        }
        self.fixes.insert(fix.to_owned())
    }
}

fn place(columns: &Columns<'_>, row: usize) -> String {
    let parts = ["source", "archive", "path"].map(|name| columns.text(name, row).unwrap_or_default());
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ")
}

fn problem(columns: &Columns<'_>, row: usize) -> Problem {
    Problem { place: place(columns, row), problem: columns.text("problem", row).unwrap_or_default().to_owned() }
}

fn gain(columns: &Columns<'_>, row: usize) -> Gain {
    let number = |name| columns.number(name, row);
    Gain {
        bytes: number("saves_bytes"),
        read_pages: number("saves_read_pages"),
        private_pages: number("saves_private_pages"),
        seeks: number("saves_seeks"),
        lookups: number("saves_lookups"),
        probes: number("saves_probes"),
        weight: number("weight"),
    }
}

fn add(sum: &mut Gain, gain: &Gain) {
    for (sum, value) in [
        (&mut sum.bytes, gain.bytes),
        (&mut sum.read_pages, gain.read_pages),
        (&mut sum.private_pages, gain.private_pages),
        (&mut sum.seeks, gain.seeks),
        (&mut sum.lookups, gain.lookups),
        (&mut sum.probes, gain.probes),
        (&mut sum.weight, gain.weight),
    ] {
        *sum = sum.saturating_add(value);
    }
}

/// Reads these columns of a shard's table, in portions.
fn read<R: Row>(shard: &Path, names: &[&'static str], mut each: impl FnMut(&Columns<'_>)) -> Result<(), SurveyError> {
    let path: PathBuf = shard.join(format!("{}.parquet", R::TABLE));
    let unreadable = |source| SurveyError::Unreadable { path: path.clone(), source };
    let file = File::open(&path).map_err(SurveyError::io("read", &path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(unreadable)?;
    let schema = builder.schema();
    let version = schema.metadata().get(coldstart_tables::VERSION_KEY).map(String::as_str);
    if version != Some(coldstart_tables::VERSION.to_string().as_str()) {
        return Err(SurveyError::Schema(path));
    }
    let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
    for batch in builder.with_projection(mask).build().map_err(unreadable)? {
        let batch = batch.map_err(|error| unreadable(error.into()))?;
        let columns = Columns::of(&batch, names).ok_or_else(|| SurveyError::Schema(path.clone()))?;
        each(&columns);
    }
    Ok(())
}
