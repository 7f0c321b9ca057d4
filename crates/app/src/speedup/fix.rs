//! The interface of a fix for `speedup`.

use std::cell::OnceCell;

use serde::Serialize;

use super::setup::Setup;
use super::subject::Subject;
use crate::error::AppError;
use crate::fix_kind::FixKind;

/// A way to make a program start faster.
///
/// A new fix is one file with this trait, and a line in [`super::fixes`].
pub(super) trait Fix {
    /// Of two fixes of the same kind, at most one is in use.
    fn kind(&self) -> FixKind;

    /// Its name in tables.
    fn name(&self) -> &'static str;

    /// What it would do to this program. Nothing is changed.
    ///
    /// # Errors
    /// If the question cannot be answered because something broke. "It does not fit" is an answer.
    fn predict(&mut self, subject: &Subject<'_>) -> Result<Prospect, AppError>;

    /// Adds it to a way of starting the program.
    ///
    /// # Errors
    /// If its files cannot be written.
    fn add_to(&self, setup: &mut Setup, subject: &Subject<'_>) -> Result<(), AppError>;
}

/// What is made at the first trial and used by all: `make` is called once, unless it fails.
pub(super) fn made_once<T: Clone>(
    made: &OnceCell<T>,
    make: impl FnOnce() -> Result<T, AppError>,
) -> Result<T, AppError> {
    if let Some(made) = made.get() {
        return Ok(made.clone());
    }
    let new = make()?;
    Ok(made.get_or_init(|| new).clone())
}

/// What a fix would do to a program, before it is tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prospect {
    /// The kind of fix.
    pub kind: FixKind,
    /// Its name in tables.
    pub name: &'static str,
    /// Whether it is worth a try.
    pub applies: bool,
    /// The predicted cold start with it, in seconds; `None` if unknown.
    pub predicted: Option<f64>,
    /// Why, or why not: a clause.
    pub why: String,
}

impl Prospect {
    /// A fix that is worth a try.
    pub(super) fn of(fix: &dyn Fix, predicted: Option<f64>, why: String) -> Self {
        Self { kind: fix.kind(), name: fix.name(), applies: true, predicted, why }
    }

    /// A fix that does not fit, and why: a clause.
    pub(super) fn not(fix: &dyn Fix, why: impl Into<String>) -> Self {
        Self { kind: fix.kind(), name: fix.name(), applies: false, predicted: None, why: why.into() }
    }
}
