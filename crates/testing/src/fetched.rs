//! Other people's programs that Debian does not have, fetched once for all tests and all later runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::fixture::Ingredients;
use crate::{Turn, build_directory, is_there, skip};

/// The directory `name` of what `fill` fetches; made whole beside its place. What fails is tried again by the next that wants it.
pub fn fetched(name: &str, fill: impl FnOnce(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    let _one = Turn::alone("fetching");
    let place = build_directory().join(name);
    if !place.exists() {
        let beside = tempfile::tempdir_in(build_directory()).map_err(|error| error.to_string())?;
        fill(beside.path())?;
        std::fs::rename(beside.path(), &place).map_err(|error| format!("{}: {error}", place.display()))?;
    }
    Ok(place)
}

/// Which packages of Python.
#[derive(Clone, Copy, Debug)]
pub enum PythonPackages {
    /// What reads tables: pyarrow, pandas, polars, DuckDB.
    Tables,
    /// Spark; it needs those, too.
    Spark,
}

impl PythonPackages {
    /// The directory for PYTHONPATH; `None` where they cannot be had, of which [`skip()`] has told.
    #[track_caller]
    pub fn directory(self) -> Option<PathBuf> {
        if !is_there("python3") {
            skip("needs python3");
            return None;
        }
        let list = match self {
            Self::Tables => "tables.txt",
            Self::Spark => "spark.txt",
        };
        let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("python").join(list);
        let name = Ingredients::new().file(&list).program("python3").name("python");
        match fetched(&name, |at| install(&list, at)) {
            Ok(directory) => Some(directory),
            Err(reason) => {
                skip(&reason);
                None
            }
        }
    }
}

fn install(list: &Path, at: &Path) -> Result<(), String> {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--no-warn-conflicts", "--target"]);
    pip.arg(at).arg("-r").arg(list).env("PIP_ROOT_USER_ACTION", "ignore").stdin(Stdio::null());
    let output = pip.output().map_err(|error| format!("{pip:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{pip:?}: {}", String::from_utf8_lossy(&output.stderr)))
}
