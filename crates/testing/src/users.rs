//! Commands as another user.

use std::ffi::OsStr;
use std::process::Command;

/// The user and group that own nothing (`nobody`, `nogroup`).
pub const NOBODY: u32 = 65534;

/// A command that runs `program` as an unprivileged user. The caller must be root, and the program and its directory
/// must be accessible to all.
pub fn as_unprivileged(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    let user = NOBODY.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--inh-caps=-all", "--"]).arg(program);
    command
}
