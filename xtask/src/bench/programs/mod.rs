//! `programs`: eight programs that nobody tuned for, on a network disk and on this machine's: plain, with the default plan,
//! with the exact plan, cold and hot.
//!
//! Not obvious: a program that cannot be measured does not end the series. Its row says why, and the others have theirs.

mod case;
mod figures;
mod list;

use anyhow::Result;
use serde_json::{Value, json};

use super::bed::{Bed, BedKind, with_collection};
use super::record::Record;
use super::start::install_launchers;
use super::workshop::Workshop;
use crate::corpus::Collection;

pub(super) use case::{planned, record_plans};
pub(super) use figures::figures;
pub(super) use list::{CLANG, NUMPY, Started};

/// The disks, the model first: its figures head the record.
const BEDS: [(BedKind, &str); 2] = [(BedKind::Net, "net"), (BedKind::Disk, "disk")];

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let mut cases = Vec::new();
    for (kind, name) in BEDS {
        let measured = with_collection(workshop, kind, Collection::Programs, |bed| {
            record.bed.get_or_insert_with(|| bed.status.clone());
            on_bed(workshop, bed, name, record.runs, &mut cases)
        });
        match measured {
            Err(error) if workshop.runner.is_interrupted() || cases.is_empty() => return Err(error),
            // What was measured before is worth keeping.
            Err(error) => cases.push(failed(name, "the disk", &error)),
            Ok(()) => {}
        }
    }
    record.add("cases", cases.into());
    record
        .add("about", json!(["commands: A plain, B with the default plan, C with the exact plan, by `coldstart-run`"]));
    Ok(())
}

/// Measures all programs on one disk.
fn on_bed(workshop: &Workshop, bed: &Bed<'_>, name: &str, runs: u32, cases: &mut Vec<Value>) -> Result<()> {
    install_launchers(bed, workshop)?;
    for program in &list::all() {
        eprintln!("bench: programs: {} on {name}", program.name);
        cases.push(match case::measure(workshop, bed, program, runs) {
            Err(error) if workshop.runner.is_interrupted() => return Err(error),
            Err(error) => failed(name, program.name, &error),
            Ok(result) => json!({
                "bed": name, "program": program.name, "bandwidth_mb": bed.status["parameters"]["bandwidth_mb"],
                "result": result,
            }),
        });
    }
    Ok(())
}

/// A case without a measurement.
fn failed(bed: &str, program: &str, error: &anyhow::Error) -> Value {
    eprintln!("bench: programs: {program} on {bed}: {error:#}");
    json!({"bed": bed, "program": program, "bandwidth_mb": null, "result": {"error": format!("{error:#}")}})
}
