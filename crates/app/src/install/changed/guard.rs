//! Which files of a program an installation may replace.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use coldstart_install::{Directories, Scope};
use coldstart_launch::find_program;
use coldstart_packages::{Ownership, ownerships_of, refusals};
use rustix::fs::{Access, access};

use super::replacer::{clause, ourselves};
use crate::error::AppError;
use crate::starting;

/// Programs without which a machine cannot be repaired: dpkg and apt with what they start, a shell, and the first process. Between the
/// unpacking of a package and the call of our hook, a replaced library of the old version is in use beside new ones; these programs
/// must not notice.
const NEEDED: &[&str] = &[
    "dpkg",
    "dpkg-deb",
    "dpkg-split",
    "dpkg-query",
    "dpkg-divert",
    "dpkg-trigger",
    "apt-get",
    "tar",
    "gzip",
    "xz",
    "zstd",
    "sh",
    "bash",
    "rm",
    "mount",
    "perl",
    "systemd",
    "init",
    "login",
    "sshd",
    "sudo",
];
/// Helpers of apt, which downloads with them.
const HELPERS: &str = "/usr/lib/apt/methods";

/// Decides which files may be replaced, for a scope.
pub struct Guard {
    scope: Scope,
    /// Real paths of the files that programs of [`NEEDED`] load, themselves included.
    needed: HashSet<PathBuf>,
}

impl Guard {
    /// For installations in these directories.
    pub fn new(directories: &Directories) -> Self {
        let mut programs: Vec<PathBuf> = Vec::new();
        let path = Some(std::ffi::OsStr::new("/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin:/lib/systemd"));
        programs.extend(NEEDED.iter().filter_map(|name| find_program(std::ffi::OsStr::new(name), path, None).ok()));
        programs.extend(std::fs::read_dir(HELPERS).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())));
        let mut needed = HashSet::new();
        for program in programs {
            let objects = starting::loads(&program).map(|closure| closure.objects).unwrap_or_default();
            let files = objects.into_iter().map(|object| object.path).chain([program]);
            needed.extend(files.filter_map(|file| file.canonicalize().ok()));
        }
        Self { scope: directories.scope, needed }
    }

    /// Why each of the files may not be replaced, as a clause; `None` if it may.
    ///
    /// # Errors
    /// If a package manager does not answer.
    pub fn refusals(&self, files: &[PathBuf]) -> Result<Vec<Option<String>>, AppError> {
        let root = Path::new("/");
        let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        let mut reasons: Vec<Option<String>> = files.iter().map(|file| self.refusal(file)).collect();
        let owners = ownerships_of(root, &paths)?;
        let owned: Vec<Option<String>> = match self.scope {
            Scope::User => owners
                .iter()
                .map(|owner| match owner {
                    Ownership::None => None,
                    owner => Some(match owner.owner() {
                        Some(owner) => format!("it belongs to package {owner}, and only root may replace it"),
                        None => "it belongs to a package, and only root may replace it".to_owned(),
                    }),
                })
                .collect(),
            Scope::System => {
                // Before anything is replaced: the hook must not be a way to become root.
                let hook = ourselves().err().map(|error| error.sentence());
                let refused = refusals(root, &paths, &owners)?;
                let reason = |(refusal, owner): (Option<_>, &Ownership)| match (refusal, owner) {
                    (Some(error), _) => Some(clause(&error)),
                    (None, Ownership::Dpkg { .. }) => hook.clone(),
                    (None, _) => None,
                };
                refused.into_iter().zip(&owners).map(reason).collect()
            }
        };
        for (reason, owned) in reasons.iter_mut().zip(owned) {
            *reason = reason.take().or(owned);
        }
        Ok(reasons)
    }

    fn refusal(&self, file: &Path) -> Option<String> {
        let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        if self.needed.contains(&real) {
            return Some("dpkg, the shell or the first process need it, also in the middle of an upgrade".to_owned());
        }
        let directory = real.parent()?;
        access(directory, Access::WRITE_OK).err().map(|errno| format!("its directory cannot be written ({errno})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_install::Environment;
    use coldstart_testing::{is_root, scratch};

    fn guard(scope: Scope) -> Guard {
        let environment = Environment { home: Some("/home/nobody".into()), ..Environment::default() };
        Guard::new(&match scope {
            Scope::System => Directories::system(Path::new("/"), &environment),
            Scope::User => Directories::user(&environment).unwrap(),
        })
    }

    #[test]
    fn what_an_upgrade_needs_is_never_replaced() {
        // Under the names by which the loader finds them.
        let shell = Path::new("/bin/sh").canonicalize().unwrap();
        let mut files: Vec<PathBuf> =
            starting::loads(&shell).unwrap().objects.into_iter().map(|object| object.path).collect();
        files.push(shell);
        assert!(files.len() >= 3, "the C library and the loader among them: {files:?}");
        for scope in [Scope::System, Scope::User] {
            for (file, reason) in files.iter().zip(guard(scope).refusals(&files).unwrap()) {
                assert!(reason.is_some_and(|reason| reason.starts_with("dpkg, the shell")), "{}", file.display());
            }
        }
    }

    #[test]
    fn files_of_packages_are_for_root_and_own_files_for_everybody() {
        let directory = scratch();
        let own = directory.path().join("own");
        std::fs::write(&own, "").unwrap();
        assert_eq!(guard(Scope::User).refusals(std::slice::from_ref(&own)).unwrap(), [None]);
        assert_eq!(guard(Scope::System).refusals(&[own]).unwrap(), [None]);
        // A file of a package wherever there is dpkg, and nothing that dpkg needs.
        let packaged = Path::new("/etc/debian_version");
        if is_root() && packaged.exists() {
            let [Some(reason)] = &*guard(Scope::User).refusals(&[packaged.to_owned()]).unwrap() else {
                panic!("allowed")
            };
            assert!(reason.contains("belongs to package base-files") && reason.contains("only root"), "{reason}");
        }
    }
}
