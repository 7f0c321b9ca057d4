//! A module for clusters: `module load coldstart/NAME` puts a directory with the wrapper in front of the `PATH`.
//!
//! Environment Modules reads files that begin with `#%Module`, Lmod those that end with `.lua` first; so both can stand side by
//! side. Each is its own module, and never a version of the program's, of which it could become the default one.

use std::ffi::OsString;
use std::path::PathBuf;

use coldstart_profile::printable;

use super::{Place, PlannedPlace, Subject, script};
use crate::error::InstallError;
use crate::file::{MARK, PlannedFile};

/// The module's directory below that of the modules.
const OURS: &str = "coldstart";

/// `modulefile=DIRECTORY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleFile {
    /// A directory of `MODULEPATH`.
    pub directory: PathBuf,
}

impl Place for ModuleFile {
    fn words(&self) -> OsString {
        let mut words = OsString::from("modulefile=");
        words.push(&self.directory);
        words
    }

    fn plan(&self, subject: &Subject<'_>) -> Result<PlannedPlace, InstallError> {
        let place = || format!("a module in `{}`", printable(&self.directory));
        let text = |what: &str, value: Option<&str>| {
            let hint = "move it to a path that is text, or choose another name";
            let value = value.filter(|value| !value.chars().any(char::is_control)).map(str::to_owned);
            value.ok_or_else(|| {
                InstallError::refused(place(), format!("{what} is not text that a module file can hold"), Some(hint))
            })
        };
        let name = text("the name", subject.name.to_str())?;
        let wrappers = subject.installation.wrappers();
        let bin = text("the directory of the wrapper", wrappers.to_str())?;
        let program = text("the program's path", subject.program.to_str())?;
        let help = format!("{program} with its files prefetched by coldstart");
        let tcl = format!(
            "#%Module1.0\n# {MARK} for the installation `{name}`.\nmodule-whatis {help}\nprepend-path PATH {bin}\n",
            help = tcl_word(&help),
            bin = tcl_word(&bin),
        );
        let lua = format!(
            "-- {MARK} for the installation `{name}`.\nwhatis({help})\nprepend_path(\"PATH\", {bin})\n",
            help = lua_string(&help),
            bin = lua_string(&bin),
        );
        let directory = self.directory.join(OURS);
        let file = |name: String, text: String| PlannedFile {
            path: directory.join(name),
            bytes: text.into_bytes(),
            mode: 0o644,
        };
        Ok(PlannedPlace {
            files: vec![file(name.clone(), tcl), file(format!("{name}.lua"), lua)],
            own_files: vec![wrapper(subject)],
            summary: format!(
                "the module `{OURS}/{name}` in `{}`, for those who load it: `module load {OURS}/{name}`",
                printable(&self.directory)
            ),
            ..PlannedPlace::default()
        })
    }
}

/// The wrapper that the module puts on the path; it lies in the installation's own directory.
fn wrapper(subject: &Subject<'_>) -> PlannedFile {
    let path = subject.installation.wrappers().join(subject.program.file_name().unwrap_or(subject.name));
    PlannedFile { path, bytes: script::starter(subject, Some(subject.program)), mode: 0o755 }
}

/// A word in Tcl: within quotes, what has a meaning is escaped (Tcl(n), rules 4 and 7 to 9).
fn tcl_word(text: &str) -> String {
    let mut word = "\"".to_owned();
    for character in text.chars() {
        if "\"\\$[]{}".contains(character) {
            word.push('\\');
        }
        word.push(character);
    }
    word + "\""
}

/// A string in Lua (Lua 5.1 manual, 2.1).
fn lua_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
