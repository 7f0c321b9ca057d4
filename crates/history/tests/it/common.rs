//! Measurements to keep.

use coldstart_profile::measurement::KeptMeasurement;
use serde_json::{Value, json};

/// A measurement of one command in the hot state, with these times.
pub(crate) fn kept(id: &str, measured_at: i64, label: Option<&str>, times: &[f64]) -> KeptMeasurement {
    serde_json::from_value(document(id, measured_at, label, times)).unwrap()
}

pub(crate) fn document(id: &str, measured_at: i64, label: Option<&str>, times: &[f64]) -> Value {
    let sample = |(index, seconds): (usize, &f64)| {
        json!({
            "number": index + 1, "command": 0, "state": "hot", "round": index, "attempt": 1, "seconds": seconds,
            "end": {"how": "exited", "value": 0},
            "residency": {"file_pages": 9, "resident_pages": 9, "unknown_files": 0, "missing_files": 0},
            "bytes_read": 0, "major_faults": 0, "minor_faults": 7, "user_seconds": 0.1, "system_seconds": 0.1,
            "devices": [{"device": "8:1", "requests": 0, "bytes": 0, "read_ahead_kib": 128}],
            "used": if index == 0 { json!({"use": "warm-up"}) } else { json!({"use": "counted"}) }
        })
    };
    json!({
        "id": id, "measured_at": measured_at, "label": label, "coldstart_version": "0.1.0",
        "programs": [{"path": "/opt/\\xffa/server", "file": {"size": 5, "modified": -3}, "build_id": "abcdef",
                      "content_hash": null}],
        "machine": {"kernel": "6.1", "processor": "P", "processor_count": 2, "governor": null, "memory": 1 << 30,
                    "devices": []},
        "commands": [{"label": "A", "command_line": "./server --port 80", "readiness": "exit", "file_count": 3}],
        "samples": times.iter().enumerate().map(sample).collect::<Vec<_>>(),
        "summaries": [{
            "command": 0, "state": "hot", "counted": times.len(), "failed": 0, "contradicting": 0, "mean": 1.0,
            "mean_interval": {"low": 0.9, "high": 1.1, "confidence": 0.95}, "median": 1.0, "min": 0.9, "max": 1.1,
            "standard_deviation": 0.1, "outliers": [{"sample": 2, "seconds": 1.1}], "bytes_read": 0.0,
            "requests": null, "major_faults": 0.0,
            "state_facts": {"method": "m", "checked_before": true, "file_pages": 9, "resident_pages": [9, 9],
                            "stayed": [{"path": "/x", "pages": 2}]}
        }],
        "comparisons": [], "input_output": [], "launch_floor": 0.0005,
        "warnings": [{"kind": "interference", "samples": [2], "others_bytes": 5_000_000}]
    })
}
