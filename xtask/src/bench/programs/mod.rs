//! `programs`: eight programs that nobody tuned for, on a network disk and on this machine's: plain, with the default plan,
//! with the exact plan, cold and hot. `images-…`: most of them from start images.
//!
//! Not obvious: a program that cannot be measured does not end the series. Its row says why, and the others have theirs.

mod case;
mod figures;
pub(super) mod images;
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

/// A disk, and the programs that are measured on it.
type OnBed = (BedKind, &'static str, Vec<Started>);

/// Measures one program on one disk; so many starts of each kind.
type MeasureCase = fn(&Workshop, &Bed<'_>, &Started, u32) -> Result<Value>;

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    // The model first: its figures head the record.
    let beds = [(BedKind::Net, "net", list::all()), (BedKind::Disk, "disk", list::all())];
    on_beds(workshop, record, &beds, case::measure)?;
    record
        .add("about", json!(["commands: A plain, B with the default plan, C with the exact plan, by `coldstart-run`"]));
    Ok(())
}

/// Measures all programs on all disks into the record's part `cases`. Interrupted, it keeps those that are finished.
fn on_beds(workshop: &Workshop, record: &mut Record, beds: &[OnBed], measure: MeasureCase) -> Result<()> {
    let mut cases = Vec::new();
    for (kind, name, programs) in beds {
        let measured = with_collection(workshop, *kind, Collection::Programs, |bed| {
            record.bed.get_or_insert_with(|| bed.status.clone());
            install_launchers(bed, workshop)?;
            for program in programs {
                cases.push(one(workshop, record, bed, (name, program), measure)?);
            }
            Ok(())
        });
        match measured {
            Err(error) if cases.is_empty() => return Err(error),
            // What was measured before is worth keeping.
            Err(_) if workshop.runner.is_interrupted() => break,
            Err(error) => cases.push(failed(record, name, "the disk", &error)),
            Ok(()) => {}
        }
    }
    record.add("cases", cases.into());
    Ok(())
}

/// Measures a program on a disk.
///
/// # Errors
/// When we are interrupted. Any other failure is the case's result.
fn one(
    workshop: &Workshop,
    record: &Record,
    bed: &Bed<'_>,
    (name, program): (&str, &Started),
    measure: MeasureCase,
) -> Result<Value> {
    eprintln!("bench: {}: {} on {name}", record.benchmark, program.name);
    match measure(workshop, bed, program, record.runs) {
        Err(error) if workshop.runner.is_interrupted() => Err(error),
        Err(error) => Ok(failed(record, name, program.name, &error)),
        Ok(result) => Ok(json!({
            "bed": name, "program": program.name, "bandwidth_mb": bed.status["parameters"]["bandwidth_mb"],
            "result": result,
        })),
    }
}

/// A case without a measurement.
fn failed(record: &Record, bed: &str, program: &str, error: &anyhow::Error) -> Value {
    eprintln!("bench: {}: {program} on {bed}: {error:#}", record.benchmark);
    json!({"bed": bed, "program": program, "bandwidth_mb": null, "result": {"error": format!("{error:#}")}})
}
