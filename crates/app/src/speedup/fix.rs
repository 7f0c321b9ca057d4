//! The interface of a fix for `speedup`.

use coldstart_launch::CommandLine;

use crate::error::AppError;

/// A method to make a program start faster without changing it.
pub(super) trait Fix {
    /// Its name for tables: `prefetch`.
    fn name(&self) -> &'static str;

    /// The predicted cold start with the fix, in seconds; `None` if unknown.
    fn predict(&self) -> Option<f64>;

    /// Applies the fix and returns the command for the measurement.
    ///
    /// # Errors
    /// If the fix's files cannot be written.
    fn apply(&mut self) -> Result<CommandLine, AppError>;

    /// Proves that the program behaves the same with the fix.
    ///
    /// # Errors
    /// If the proof cannot be run. A failed proof is not an error.
    fn prove(&self) -> Result<Proof, AppError>;

    /// The command to start the program with from now on.
    fn command_from_now_on(&self) -> String;
}

/// The result of a comparison.
pub(super) struct Proof {
    /// Whether no difference was found.
    pub(super) holds: bool,
    /// Each comparison as a clause.
    pub(super) findings: Vec<String>,
    /// What could not be compared because the program itself varies, as clauses.
    pub(super) unchecked: Vec<String>,
}
