//! Why pages remained, as data for scripts.

use coldstart_pagecache::{Holder, Stayed};
use serde::Serialize;

/// One reason in JSON.
#[derive(Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub(super) enum JsonReason {
    InMemory,
    Unwritten { pages: u64 },
    Held { processes: Vec<JsonHolder> },
    Mounted,
    Layered,
    InUse { unreadable_processes: u64 },
    UnwrittenOrInUse,
    NotTold { unknown: &'static str },
}

#[derive(Serialize)]
pub(super) struct JsonHolder {
    pid: u32,
    name: String,
    bytes: u64,
    locked: bool,
}

impl From<&Stayed> for JsonReason {
    fn from(reason: &Stayed) -> Self {
        let holder = |holder: &Holder| JsonHolder {
            pid: holder.pid,
            name: holder.name.clone(),
            bytes: holder.bytes,
            locked: holder.locked,
        };
        match reason {
            Stayed::InMemory => Self::InMemory,
            Stayed::Unwritten(pages) => Self::Unwritten { pages: *pages },
            Stayed::Held(holders) => Self::Held { processes: holders.iter().map(holder).collect() },
            Stayed::Mounted => Self::Mounted,
            Stayed::Layered => Self::Layered,
            Stayed::InUse { unreadable_processes } => Self::InUse { unreadable_processes: *unreadable_processes },
            Stayed::UnwrittenOrInUse => Self::UnwrittenOrInUse,
            Stayed::NotTold(unknown) => Self::NotTold { unknown: unknown.name() },
        }
    }
}
