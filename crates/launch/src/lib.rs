//! Starting a program, knowing when it is ready, ending its whole process tree.
//!
//! Measuring and recording both need the same start: the same way to spawn, the same moment that counts as "ready", and
//! nothing left running afterwards that would disturb the next one. A newcomer might expect the end of the first
//! process to be the end of the program; a launcher script, a daemon or a prefetcher running beside it says otherwise,
//! so everything that descends from the launch is found, ended and its use of the machine counted.
//!
//! [`launch`] is the whole of it. No shell is involved anywhere.

mod command_line;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod interrupt;
mod launched;
mod lookup;
mod options;
mod readiness;
mod refusal;
mod run;
mod tree;

pub use command_line::{CommandLine, CommandLineError};
pub use error::LaunchError;
pub use interrupt::Interrupt;
pub use launched::{Counts, End, Launched, Uncounted, Usage};
pub use lookup::find_program;
pub use options::{Input, LaunchOptions, Output};
pub use readiness::DisplayError;
pub use readiness::{HttpUrl, Readiness, ReadinessError};
pub use run::{PreparedLaunch, Setup, command_of, launch};
