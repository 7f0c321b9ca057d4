//! The parts of `coldstart prefetch show --json` that figures and other tools need.

use anyhow::{Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

const SCHEMA: &str = "coldstart.prefetch/1";

/// A plan.
#[derive(Debug, Deserialize)]
pub(super) struct Plan {
    schema: String,
    pub(super) strategy: String,
    /// What a replay reads.
    pub(super) bytes: u64,
    files: Vec<File>,
    pub(super) stale_files: u64,
}

#[derive(Debug, Deserialize)]
struct File {
    path: String,
    /// Hexadecimal; there only when `path` is not the whole truth.
    path_bytes: Option<String>,
    kind: String,
}

impl Plan {
    /// # Errors
    /// When the object has another schema or lacks something.
    pub(super) fn from_json(json: &Value) -> Result<Self> {
        let plan = Self::deserialize(json)?;
        ensure!(plan.schema == SCHEMA, "the plan's schema is {}, not {SCHEMA}", plan.schema);
        Ok(plan)
    }

    /// The regular files that it reads of, in its order.
    ///
    /// # Errors
    /// When there are none, or a name is not UTF-8.
    pub(super) fn regular_files(&self) -> Result<Vec<&str>> {
        let mut paths = Vec::new();
        for file in self.files.iter().filter(|file| matches!(file.kind.as_str(), "file" | "rewritten file")) {
            if file.path_bytes.is_some() {
                bail!("a name in the plan is not UTF-8: {}", file.path);
            }
            paths.push(file.path.as_str());
        }
        ensure!(!paths.is_empty(), "the plan reads no regular file");
        Ok(paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown() -> Value {
        json!({
            "schema": SCHEMA, "command": ["soffice"], "recorded_at": 0, "strategy": "blocking", "threads": 1,
            "device": {"latency_seconds": 0.01, "bytes_per_second": 120_000_000, "parallel": 1, "seeks": true},
            "bytes": 125_000_000, "reads": 800, "names": 50, "recorded_start_seconds": 13.0, "hot_start_seconds": 0.9,
            "predicted_replay_seconds": 2.0, "predicted_start_seconds": 3.0,
            "files": [
                {"path": "/dev/loop1", "kind": "metadata", "pages": 9, "reads": 9, "stale": null},
                {"path": "/usr/lib/libmergedlo.so", "kind": "file", "pages": 9, "reads": 2, "stale": null},
                {"path": "/root/registry.xcu", "kind": "rewritten file", "pages": 1, "reads": 1, "stale": null}
            ],
            "stale_files": 0, "unreadable_files": 0
        })
    }

    #[test]
    fn regular_files_are_those_with_content_of_their_own() {
        let plan = Plan::from_json(&shown()).unwrap();
        assert_eq!(plan.bytes, 125_000_000);
        assert_eq!(plan.regular_files().unwrap(), ["/usr/lib/libmergedlo.so", "/root/registry.xcu"]);
    }

    #[test]
    fn what_vmtouch_could_not_be_told_is_an_error() {
        let mut odd = shown();
        odd["files"][1]["path_bytes"] = json!("2f80");
        assert!(Plan::from_json(&odd).unwrap().regular_files().is_err());
        let mut none = shown();
        none["files"] = json!([]);
        assert!(Plan::from_json(&none).unwrap().regular_files().is_err());
    }
}
