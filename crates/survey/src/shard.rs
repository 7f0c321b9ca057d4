//! One shard on disk: a directory with a file for each table, which gets its name when all are complete.
//!
//! Not obvious: nothing is flushed to disk. A shard says how many bytes with which digest its tables have, and a survey that goes on
//! reads them again; after a power loss a damaged shard is made anew. That is much cheaper than waiting for the disk at each table.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use coldstart_tables::Row;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::SurveyError;
use crate::look::Rows;

/// What a shard says of itself, beside its tables.
const RECORD: &str = "shard.json";
/// Records of shards are a kilobyte; this much is somebody else's file.
const LARGEST_RECORD: u64 = 1 << 20;
/// Below it shards are made; hidden, so that engines that read the directory pass over it.
const WORKING: &str = ".working";

/// The content of `shard.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Digest of the names, sizes and times of the files that it was made of.
    pub(crate) inputs: String,
    /// The tables, by file name.
    pub(crate) tables: BTreeMap<String, TableRecord>,
}

/// A table of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableRecord {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// BLAKE3 digest of the file.
    pub(crate) blake3: String,
}

impl Record {
    /// The rows of a table.
    pub(crate) fn rows_of(&self, table: &str) -> u64 {
        self.tables.get(&file_name(table)).map_or(0, |table| table.rows)
    }
}

/// The place of a shard.
#[derive(Clone, Debug)]
pub(crate) struct ShardPlace {
    /// The survey's directory.
    survey: PathBuf,
    /// The shard's name in it, which engines read as a partition.
    name: String,
}

/// A shard that this process has locked, and is making.
#[derive(Debug)]
pub(crate) struct Claim {
    place: ShardPlace,
    _lock: File,
}

fn file_name(table: &str) -> String {
    format!("{table}.parquet")
}

impl ShardPlace {
    pub(crate) fn new(survey: &Path, number: u32) -> Self {
        Self { survey: survey.to_owned(), name: format!("shard={number:05}") }
    }

    fn path(&self) -> PathBuf {
        self.survey.join(&self.name)
    }

    /// The record of a complete shard that was made of these inputs; `None` if it has to be made.
    pub(crate) fn finished(&self, inputs: &str) -> Option<Record> {
        let path = self.path();
        let bytes = coldstart_sys::named_file::read_regular(&path.join(RECORD), LARGEST_RECORD).ok()?;
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        let is_whole = |(name, table): (&String, &TableRecord)| {
            let file = path.join(name);
            file.metadata().is_ok_and(|found| found.len() == table.bytes)
                && digest(&file).is_ok_and(|digest| digest == table.blake3)
        };
        (record.inputs == inputs && record.tables.iter().all(is_whole)).then_some(record)
    }

    /// Claims the shard for this process; `None` if another one makes it. What a killed process left is removed.
    pub(crate) fn claim(&self) -> Result<Option<Claim>, SurveyError> {
        let working = self.survey.join(WORKING);
        std::fs::create_dir_all(&working).map_err(SurveyError::io("write", &working))?;
        let path = working.join(format!("{}.lock", self.name));
        let lock = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(SurveyError::io("write", &path))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(SurveyError::io("lock", &path)(error.into())),
        }
        let claim = Claim { place: self.clone(), _lock: lock };
        let unfinished = claim.unfinished();
        remove(&unfinished).map_err(SurveyError::io("remove", &unfinished))?;
        Ok(Some(claim))
    }
}

impl Claim {
    fn unfinished(&self) -> PathBuf {
        self.place.survey.join(WORKING).join(&self.place.name)
    }

    /// Writes the shard: all tables, or none.
    pub(crate) fn write(self, inputs: String, rows: &Rows) -> Result<Record, SurveyError> {
        let unfinished = self.unfinished();
        let written = self.write_all(&unfinished, inputs, rows);
        if written.is_err() {
            // The error is reported; what cannot be removed is removed by the next survey.
            let _ = remove(&unfinished);
        }
        written
    }

    fn write_all(&self, unfinished: &Path, inputs: String, rows: &Rows) -> Result<Record, SurveyError> {
        std::fs::create_dir(unfinished).map_err(SurveyError::io("write", unfinished))?;
        let mut tables = BTreeMap::new();
        let inspected = &rows.inspected;
        table(unfinished, &inspected.objects, &mut tables)?;
        table(unfinished, &inspected.findings, &mut tables)?;
        table(unfinished, &inspected.needed, &mut tables)?;
        table(unfinished, &inspected.initialisers, &mut tables)?;
        table(unfinished, &inspected.owners, &mut tables)?;
        table(unfinished, &rows.modules, &mut tables)?;
        table(unfinished, &rows.problems, &mut tables)?;
        let record = Record { inputs, tables };
        let path = unfinished.join(RECORD);
        let text = serde_json::to_vec_pretty(&record).map_err(io::Error::other);
        text.and_then(|text| std::fs::write(&path, text)).map_err(SurveyError::io("write", &path))?;
        let target = self.place.path();
        // An earlier one was made of other files, or is damaged.
        remove(&target).map_err(SurveyError::io("remove", &target))?;
        std::fs::rename(unfinished, &target).map_err(SurveyError::io("write", &target))?;
        Ok(record)
    }
}

/// The directories of complete shards, in order. Their tables are not checked.
pub(crate) fn complete_shards(survey: &Path, shards: u32) -> Vec<PathBuf> {
    let paths = (0..shards).map(|number| ShardPlace::new(survey, number).path());
    paths.filter(|path| path.join(RECORD).is_file()).collect()
}

/// Removes what shards were made in, once no other process makes any.
pub(crate) fn clean_up(survey: &Path) -> Result<(), SurveyError> {
    let working = survey.join(WORKING);
    remove(&working).map_err(SurveyError::io("remove", &working))
}

/// Removes a directory that need not be there.
fn remove(directory: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn table<R: Row>(directory: &Path, rows: &[R], tables: &mut BTreeMap<String, TableRecord>) -> Result<(), SurveyError> {
    let path = directory.join(file_name(R::TABLE));
    let failed = |source| SurveyError::Table { path: path.clone(), source };
    let level = ZstdLevel::try_new(3).map_err(failed)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_created_by(format!("coldstart {}", env!("CARGO_PKG_VERSION")))
        .build();
    let file = File::create_new(&path).map_err(SurveyError::io("write", &path))?;
    let counted = Counted { writer: io::BufWriter::new(file), hasher: blake3::Hasher::new(), bytes: 0 };
    let mut writer = ArrowWriter::try_new(counted, R::schema(), Some(properties)).map_err(failed)?;
    let batch = R::batch(rows).map_err(|error| failed(error.into()))?;
    writer.write(&batch).map_err(failed)?;
    let mut counted = writer.into_inner().map_err(failed)?;
    counted.flush().map_err(SurveyError::io("write", &path))?;
    let record =
        TableRecord { rows: rows.len() as u64, bytes: counted.bytes, blake3: counted.hasher.finalize().to_string() };
    tables.insert(file_name(R::TABLE), record);
    Ok(())
}

fn digest(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_string())
}

/// Counts and digests what is written.
struct Counted<W> {
    writer: W,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.writer.write(buffer)?;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        self.bytes = self.bytes.saturating_add(count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
