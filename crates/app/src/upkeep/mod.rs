//! Keeping plans up to date and in memory: replayed after login, refreshed after upgrades.
//!
//! The units that do so are places of an installation, in `coldstart_install::place`.

mod conditions;
mod idle;
mod refresh_all;
mod replay_all;

pub use conditions::{Conditions, Skipped};
pub use idle::IdleWait;
pub use refresh_all::{LeftAsIs, RefreshAll, RefreshAllOptions, WhyLeft, refresh_all, wait_until_idle};
pub use replay_all::{InstallationReplay, ReplayAll, ReplayAllOptions, replay_all};
