//! The parts of hyperfine's JSON export that figures need.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Export {
    results: Vec<OneResult>,
}

#[derive(Deserialize)]
struct OneResult {
    /// Seconds, in order of execution.
    times: Vec<f64>,
    /// In the same order; `None` if not known. An end by a signal is 128 and its number, as for a shell.
    #[serde(default)]
    exit_codes: Vec<Option<i32>>,
}

/// The times of each command, in the order given.
///
/// # Errors
/// When it is no export of hyperfine, or holds another number of commands.
pub(super) fn times<const N: usize>(json: &Value) -> Result<[Vec<f64>; N]> {
    let export = Export::deserialize(json).context("not an export of hyperfine")?;
    let count = export.results.len();
    let times: Vec<Vec<f64>> = export.results.into_iter().map(|result| result.times).collect();
    times.try_into().ok().with_context(|| format!("hyperfine measured {count} commands, not {N}"))
}

/// The exit codes of all runs of all commands; `None` where not known.
///
/// # Errors
/// When it is no export of hyperfine.
pub(super) fn exit_codes(json: &Value) -> Result<Vec<Option<i32>>> {
    let export = Export::deserialize(json).context("not an export of hyperfine")?;
    Ok(export.results.into_iter().flat_map(|result| result.exit_codes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn times_are_told_by_command() {
        let export = json!({"results": [
            {"command": "true", "mean": 0.5, "stddev": null, "median": 0.5, "user": 0.1, "system": 0.2, "min": 0.4,
             "max": 0.6, "times": [0.4, 0.6], "exit_codes": [0, 0]},
            {"command": "b", "mean": 0.5, "median": 0.5, "user": 0.1, "system": 0.2, "min": 0.5, "max": 0.5,
             "times": [0.5], "exit_codes": [0]}
        ]});
        let [first, second] = times::<2>(&export).unwrap();
        assert_eq!((first.as_slice(), second.as_slice()), ([0.4, 0.6].as_slice(), [0.5].as_slice()));
        assert_eq!(exit_codes(&export).unwrap(), [Some(0); 3]);
        assert!(times::<1>(&export).is_err());
        assert!(times::<1>(&json!({})).is_err());
    }
}
