//! What every fix must be able to do, so that `speedup` can tell its story without knowing which fix it tells it of.

use coldstart_launch::CommandLine;

use crate::error::AppError;

/// Something that may make a program start faster, without changing the program itself.
pub(super) trait Fix {
    /// A word for tables: `prefetch`.
    fn name(&self) -> &'static str;

    /// The start from a cold cache that the fix should give, in seconds; `None` if it cannot say.
    fn predict(&self) -> Option<f64>;

    /// Applies the fix and says how to start the program with it, for the measurement.
    ///
    /// # Errors
    /// When what the fix needs cannot be written.
    fn apply(&mut self) -> Result<CommandLine, AppError>;

    /// Shows that the program is the same with the fix.
    ///
    /// # Errors
    /// When the proof cannot be made; a proof that fails is a result.
    fn prove(&self) -> Result<Proof, AppError>;

    /// The command to start the program with from now on.
    fn command_from_now_on(&self) -> String;
}

/// What was compared, and whether all of it was the same.
pub(super) struct Proof {
    /// Whether nothing speaks against the fix.
    pub(super) holds: bool,
    /// Each thing compared, a sentence's part.
    pub(super) findings: Vec<String>,
    /// What could not be compared because the program itself varies, a sentence's part each.
    pub(super) unchecked: Vec<String>,
}
