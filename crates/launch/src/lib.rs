//! Starting a program, detecting its readiness, ending its whole process tree.
//!
//! Measuring and recording need the same start: the same way to spawn, the same definition of "ready", and
//! no processes left that would disturb the next start. Not obvious: the end of the first
//! process is not the end of the program, because of launcher scripts, daemons and prefetchers. So all descendants
//! of the launch are found, ended and their resource usage counted.
//!
//! [`launch`] does all of it. No shell is involved.

mod command_line;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod interrupt;
mod launched;
mod lookup;
mod options;
mod output;
mod readiness;
mod refusal;
mod run;
mod tree;

pub use command_line::{CommandLine, CommandLineError};
pub use error::LaunchError;
pub use interrupt::Interrupt;
pub use launched::{Counts, End, Launched, Uncounted, Usage};
pub use lookup::find_program;
pub use options::{Input, LaunchOptions};
pub use output::Output;
pub use readiness::DisplayError;
pub use readiness::{HttpUrl, Readiness, ReadinessError};
pub use run::{PreparedLaunch, Setup, command_of, launch, spawn_beside};
