//! Texts of units and hooks, by which plans are replayed after login and refreshed after upgrades.
//!
//! A dpkg trigger needs a package that is interested ([`DPKG_TRIGGERS`] is for the package of coldstart). Until then, systemd watches
//! dpkg's database; where there is no systemd, apt's hook does the same. Both only begin the work, because dpkg's lock is held then.

use std::path::{Path, PathBuf};

/// A path that cannot be written in a unit.
#[derive(Debug, thiserror::Error)]
#[error("`{}` cannot be named in a systemd unit", .0.display())]
pub struct UnitError(PathBuf);

impl UnitError {
    /// Advice.
    pub fn hint(&self) -> Option<&'static str> {
        Some("install coldstart under an absolute path in UTF-8 without control characters")
    }
}

coldstart_hint::hinted!(UnitError);

/// The name of [`login_service`], a unit of the user.
pub const LOGIN_SERVICE_NAME: &str = "coldstart-login.service";
/// The name of [`refresh_service`], a unit of the system.
pub const REFRESH_SERVICE_NAME: &str = "coldstart-refresh.service";
/// The name of [`refresh_path`], a unit of the system.
pub const REFRESH_PATH_NAME: &str = "coldstart-refresh.path";
/// The name of [`APT_HOOK`] in `/etc/apt/apt.conf.d`.
pub const APT_HOOK_NAME: &str = "90coldstart";

/// The file `triggers` of a package. `noawait`: packages need not wait for plans.
pub const DPKG_TRIGGERS: &str = "interest-noawait /usr/bin\ninterest-noawait /usr/lib\n";

/// For machines without systemd: marks that something was installed. A failure must not fail apt.
pub const APT_HOOK: &str = "DPkg::Post-Invoke { \"touch /var/lib/coldstart/upgraded 2>/dev/null || true\"; };\n";

/// Replays the plans of installed programs after login, in the idle class of the disk. `arguments` follow the program's path.
///
/// # Errors
/// A path that a unit cannot name.
pub fn login_service(coldstart: &Path, arguments: &str) -> Result<String, UnitError> {
    let program = quoted(coldstart)?;
    Ok(format!(
        "[Unit]\n\
         Description=Read what installed programs need at their start\n\
         ConditionACPower=true\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         ExecStart={program} {arguments}\n\
         Nice=19\n\
         IOSchedulingClass=idle\n\
         CPUSchedulingPolicy=idle\n\
         TimeoutStartSec=10min\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    ))
}

/// Starts [`refresh_service`] when dpkg's database has changed.
pub fn refresh_path() -> String {
    "[Unit]\n\
     Description=Watch for upgrades of packages\n\
     \n\
     [Path]\n\
     PathChanged=/var/lib/dpkg/status\n\
     TriggerLimitIntervalSec=10s\n\
     TriggerLimitBurst=100\n\
     Unit=coldstart-refresh.service\n\
     \n\
     [Install]\n\
     WantedBy=paths.target\n"
        .to_owned()
}

/// Refreshes what upgrades made stale. `arguments` follow the program's path; the program waits until the machine is idle.
///
/// # Errors
/// A path that a unit cannot name.
pub fn refresh_service(coldstart: &Path, arguments: &str) -> Result<String, UnitError> {
    let program = quoted(coldstart)?;
    Ok(format!(
        "[Unit]\n\
         Description=Refresh prefetch plans after upgrades\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         ExecStart={program} {arguments}\n\
         Nice=19\n\
         IOSchedulingClass=idle\n\
         TimeoutStartSec=infinity\n"
    ))
}

/// A path as a word of `ExecStart=`: quoted, with systemd's specifiers and variables as plain text (systemd.service(5)).
fn quoted(path: &Path) -> Result<String, UnitError> {
    let text = path.to_str().filter(|text| text.starts_with('/') && !text.contains(char::is_control));
    let text = text.ok_or_else(|| UnitError(path.to_owned()))?;
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '%' => quoted.extend(['%', '%']),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    Ok(quoted)
}
