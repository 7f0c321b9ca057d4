//! `survey`: the tables of many packages, images and directories.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use coldstart_app::observer::Silent;
use coldstart_app::survey::{Options, Part};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raised;

/// Surveys packages, images and directories into `directory`, and returns how many objects, findings and problems there are.
///
/// `shard` is this process's part of the work, as (i, n) with i from 1 to n.
#[pyfunction]
#[pyo3(signature = (what, directory, *, shard = None, one_file_system = false))]
pub(crate) fn survey(
    py: Python<'_>,
    what: Vec<OsString>,
    directory: PathBuf,
    shard: Option<(u32, u32)>,
    one_file_system: bool,
) -> PyResult<BTreeMap<&'static str, u64>> {
    let part = shard.map(|(index, of)| format!("{index}/{of}").parse::<Part>());
    let part = part.transpose().map_err(|problem| PyValueError::new_err(format!("shard is {problem}")))?;
    let options = Options { what, directory, part, one_file_system, ..Options::default() };
    let outcome = py.detach(|| coldstart_survey::survey(&options, &Silent)).map_err(|error| raised(py, error))?;
    Ok(BTreeMap::from([
        ("shards", outcome.shards),
        ("kept", outcome.kept),
        ("made", outcome.made),
        ("elsewhere", outcome.elsewhere),
        ("files", outcome.files),
        ("objects", outcome.objects),
        ("findings", outcome.findings),
        ("problems", outcome.problems),
    ]))
}
