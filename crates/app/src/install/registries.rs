//! Where installations are looked for: those of the system, and those of the user.

use std::ffi::OsStr;
use std::path::Path;

use coldstart_install::{Directories, Environment, InstallError, Registry, Scope};
use rustix::process::geteuid;

use crate::error::AppError;

/// The directories for a new installation: root's are for all users, unless `for_user`.
///
/// # Errors
/// If the user's directories are not known.
pub fn places_for(for_user: bool) -> Result<Directories, AppError> {
    let environment = Environment::of_process();
    Ok(match geteuid().is_root() && !for_user {
        true => Directories::system(Path::new("/"), &environment),
        false => Directories::user(&environment)?,
    })
}

/// All scopes that may hold installations, the one that is changed by default first. A user without directories has none.
pub(crate) fn every_scope(only_user: bool) -> Result<Vec<Directories>, AppError> {
    let environment = Environment::of_process();
    let user = Directories::user(&environment);
    if only_user {
        return Ok(vec![user?]);
    }
    let system = Directories::system(Path::new("/"), &environment);
    Ok(match (geteuid().is_root(), user) {
        (true, Ok(user)) => vec![system, user],
        (false, Ok(user)) => vec![user, system],
        (_, Err(_)) => vec![system],
    })
}

pub(super) fn every_registry() -> Vec<Registry> {
    let scopes = every_scope(false).unwrap_or_default();
    scopes.iter().map(|directories| Registry::new(&directories.registry)).collect()
}

/// An installation that was looked for.
#[derive(Clone, Debug)]
pub struct Located {
    /// Where it belongs.
    pub directories: Directories,
    /// All installations there.
    pub registry: Registry,
}

impl Located {
    /// All installations of a scope.
    pub(crate) fn in_scope(scope: Scope, only_user: bool) -> Result<Self, AppError> {
        let found = every_scope(only_user)?.into_iter().find(|directories| directories.scope == scope);
        let directories = found.ok_or(InstallError::NoHome { variable: "HOME" })?;
        Ok(Self { registry: Registry::new(&directories.registry), directories })
    }
}

/// Finds an installation by its name.
///
/// # Errors
/// If there is none of this name.
pub fn locate(name: &OsStr, only_user: bool) -> Result<Located, AppError> {
    for directories in every_scope(only_user)? {
        let registry = Registry::new(&directories.registry);
        if registry.installation(name)?.directory().is_dir() {
            return Ok(Located { directories, registry });
        }
    }
    Err(InstallError::NotInstalled { name: name.to_owned() }.into())
}

/// How a command about an installation is typed by the user who may change it.
pub(crate) fn command(name: &OsStr, option: &str, scope: Scope) -> String {
    let is_root = geteuid().is_root();
    let command = crate::command::of_ours("installed", [name]);
    match (scope, is_root) {
        (Scope::System, false) => format!("sudo {command} {option}"),
        (Scope::User, true) => format!("{command} --user {option}"),
        _ => format!("{command} {option}"),
    }
}
