//! Keeping plans up to date: replayed after login, refreshed after upgrades, both only while the machine is idle.

mod idle;
mod replay_all;
mod units;

pub use idle::{IdleWait, wait_until_idle};
pub use replay_all::{Conditions, PlanReplay, ReplayAll, Skipped, replay_all};
pub use units::{
    APT_HOOK, APT_HOOK_NAME, DPKG_TRIGGERS, LOGIN_SERVICE_NAME, REFRESH_PATH_NAME, REFRESH_SERVICE_NAME, UnitError,
    login_service, refresh_path, refresh_service,
};
