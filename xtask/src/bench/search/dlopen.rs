//! `search-dlopen`: a program that opens a library by its name while it runs, plain and bound.
//!
//! Needed libraries of the program do not help here; only the audit mode answers for names that are requested
//! later.

use anyhow::Result;
use serde_json::Value;

use super::super::figure::Figure;
use super::super::measurement::State;
use super::super::pack_files::empty_directory;
use super::super::record::Record;
use super::super::workshop::Workshop;
use super::binding::Mode;
use super::start::Start;
use super::variants::{Limits, figures_of_calls, figures_of_times, prepare};
use super::world::synthetic::{OPENED, build, soname};

/// Calls of the plain program, all and failed, when such a world was first measured.
const SEEN: (f64, f64) = (11_692.0, 10_412.0);
const LIMITS: Limits =
    Limits { name: "audit", total: Some(1140.0), failed: Some(2.0), library_probes: None, ratio: None };

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "search-dlopen")?;
    let world = build(&workshop.runner, &directory)?;
    let variants = prepare(workshop, &Start::new(&world.opener), &[Mode::Audit, Mode::Soname])?;
    variants.count(workshop, record)?;
    variants.time(workshop, record, "hot")?;
    let mut about = vec![Value::from(format!("opened by name: {}", soname(OPENED)))];
    about.extend(variants.about());
    record.add("about", about.into());
    Ok(())
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = figures_of_calls(record, LIMITS, Some(SEEN))?;
    figures.extend(figures_of_times(record, State::Hot, LIMITS)?);
    Ok(figures)
}
