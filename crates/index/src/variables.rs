//! The variables that make an interpreter use its index.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use coldstart_profile::shell_word;

use crate::language::Language;
use crate::preload;

/// A variable, before whose value something is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What is put before its value.
    pub prefix: OsString,
    /// What is between both.
    pub separator: &'static str,
    /// A file without which the interpreter would not start, or complain: its variable is set only if the file can be read.
    pub needs: Option<PathBuf>,
}

/// For whom settings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// A POSIX shell.
    Shell,
    /// A modulefile of Environment Modules or Lmod, in Tcl.
    Modulefile,
}

impl Variable {
    /// The variables for a language, with an index's content in a directory, which must be absolute. `Err`: a character in the directory's
    /// name that separates entries of a variable; U+FFFD for bytes that are no character, if the interpreter needs one.
    ///
    /// # Errors
    /// The character.
    pub fn of(language: Language, content: &Path) -> Result<Vec<Self>, char> {
        let own = content.join(language.directory());
        let without = |character: char| match own.as_os_str().as_bytes().contains(&(character as u8)) {
            true => Err(character),
            false => Ok(()),
        };
        match language {
            Language::Python => {
                without(':')?;
                Ok(vec![Self { name: "PYTHONPATH", prefix: own.into_os_string(), separator: ":", needs: None }])
            }
            Language::Ruby => {
                without(':')?;
                Ok(vec![Self { name: "RUBYLIB", prefix: own.into_os_string(), separator: ":", needs: None }])
            }
            Language::Guile => {
                without(':')?;
                let mut prefix = own.into_os_string();
                prefix.push(":...");
                let sources = Self { name: "GUILE_LOAD_PATH", prefix, separator: ":", needs: None };
                Ok(vec![
                    sources,
                    Self { name: "GUILE_LOAD_COMPILED_PATH", prefix: "...".into(), separator: ":", needs: None },
                ])
            }
            Language::Node => {
                // Node reads the variable as UTF-8.
                let hook = own.join("hook.js");
                let path = hook.to_str().ok_or(char::REPLACEMENT_CHARACTER)?;
                let quoted = match path.contains([' ', '"', '\\']) {
                    true => format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"")),
                    false => path.to_owned(),
                };
                let prefix = format!("--require {quoted}").into();
                Ok(vec![Self { name: "NODE_OPTIONS", prefix, separator: " ", needs: Some(hook) }])
            }
            Language::Any => {
                // `$` begins a name that the loader replaces.
                [':', ' ', '$'].into_iter().try_for_each(without)?;
                let prefix = content.join(preload::files::NAMED).into_os_string();
                let needs = Some(content.join(preload::files::LIBRARY));
                Ok(vec![Self { name: "LD_PRELOAD", prefix, separator: ":", needs }])
            }
            Language::Perl => {
                // A word of options, in which the path stands between braces.
                [' ', '\t', '\n', '{', '}', '\\'].into_iter().try_for_each(without)?;
                let mut prefix = OsString::from("-M5;BEGIN{local($@,$!);do(q{");
                prefix.push(own.join("hook.pl"));
                prefix.push("})}");
                Ok(vec![Self { name: "PERL5OPT", prefix, separator: " ", needs: None }])
            }
        }
    }

    /// The new value. An empty value counts as none: an empty entry would mean the working directory.
    pub fn value(&self, before: Option<&OsStr>) -> OsString {
        match before.filter(|before| !before.is_empty()) {
            None => self.prefix.clone(),
            Some(before) => {
                OsString::from_vec([self.prefix.as_bytes(), self.separator.as_bytes(), before.as_bytes()].concat())
            }
        }
    }

    /// The new value for a program that gets this process's environment.
    pub fn value_now(&self) -> OsString {
        self.value(std::env::var_os(self.name).as_deref())
    }

    /// As a line, without the line's end. `None` if the name cannot be written in this syntax.
    pub fn line(&self, syntax: Syntax) -> Option<String> {
        let Self { name, separator, needs, .. } = self;
        match syntax {
            Syntax::Shell => {
                let prefix = shell_word(&self.prefix);
                let export = format!("export {name}={prefix}\"${{{name}:+{separator}${name}}}\"");
                Some(match needs {
                    None => export,
                    Some(file) => format!("[ ! -r {} ] || {export}", shell_word(file.as_os_str())),
                })
            }
            Syntax::Modulefile => {
                let is_plain = |text: &&str| !text.contains(['{', '}', '\\', '\n']);
                let prefix = self.prefix.to_str().filter(is_plain)?;
                let set = format!("prepend-path -d {{{separator}}} {name} {{{prefix}}}");
                match needs {
                    None => Some(set),
                    Some(file) => {
                        let file = file.to_str().filter(is_plain)?;
                        Some(format!("if {{[file readable {{{file}}}]}} {{ {set} }}"))
                    }
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_value_before_is_kept_behind() {
        let python = &Variable::of(Language::Python, Path::new("/i")).unwrap()[0];
        assert_eq!(python.value(None), "/i/python");
        assert_eq!(python.value(Some(OsStr::new(""))), "/i/python");
        assert_eq!(python.value(Some(OsStr::new("/a:/b"))), "/i/python:/a:/b");
        assert_eq!(Variable::of(Language::Python, Path::new("/i:j")), Err(':'));
    }

    #[test]
    fn node_would_not_start_without_its_hook() {
        let variable = &Variable::of(Language::Node, Path::new("/no where")).unwrap()[0];
        assert_eq!(variable.value(Some(OsStr::new("-i"))), r#"--require "/no where/node/hook.js" -i"#);
        let script = format!("set -e; {}; echo \"${{NODE_OPTIONS-unset}}\"", variable.line(Syntax::Shell).unwrap());
        let output =
            std::process::Command::new("sh").args(["-c", &script]).env_remove("NODE_OPTIONS").output().unwrap();
        assert_eq!(output.stdout, b"unset\n");
        let line = variable.line(Syntax::Modulefile).unwrap();
        assert!(
            line.starts_with("if {[file readable {/no where/node/hook.js}]} { prepend-path -d { } NODE_OPTIONS "),
            "{line}"
        );
    }

    #[test]
    fn a_shell_reads_the_line() {
        let variable = &Variable::of(Language::Python, Path::new("/a b/it's")).unwrap()[0];
        let script = format!("{}; printf %s \"$PYTHONPATH\"", variable.line(Syntax::Shell).unwrap());
        for (before, after) in
            [(None, "/a b/it's/python"), (Some("/x"), "/a b/it's/python:/x"), (Some(""), "/a b/it's/python")]
        {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", &script]).env_remove("PYTHONPATH").envs(before.map(|before| ("PYTHONPATH", before)));
            assert_eq!(shell.output().unwrap().stdout, after.as_bytes());
        }
    }
}
