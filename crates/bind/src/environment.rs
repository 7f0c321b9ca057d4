//! The environment of this machine's loader for one program.

use std::path::Path;

use coldstart_loader::Environment;
use coldstart_startup::{Conditions, Inherit, Surroundings};

use crate::MachineFiles;

/// The inputs of a start of `program` on this machine other than files, without `LD_LIBRARY_PATH`, `LD_PRELOAD` and
/// /etc/ld.so.preload: a bound program must work without them. `secure` is [`Environment::secure`].
///
/// Unreadable files (the interpreter, its cache) are left out; `plan` then reports them.
pub fn machine_environment(program: &Path, files: &MachineFiles, secure: bool) -> Environment {
    let conditions = Conditions { inherit: Inherit::Nothing, secure: Some(secure), ..Conditions::default() };
    match files.files().object_file(program) {
        Ok(object) => Surroundings::of(&object, files.files(), &conditions).environment,
        Err(_) => {
            Environment { current_directory: files.files().current_directory(), secure, ..Environment::default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use coldstart_loader::{Hwcaps, Rules};
    use tempfile::TempDir;

    use super::*;

    /// A program with a loader, `lib/NAME` next to it, that contains these strings.
    fn environment(name: &str, strings: &[&str], options: &[&str], more: impl FnOnce(&Path)) -> Environment {
        let directory = TempDir::new().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("lib")).unwrap();
        fs::create_dir_all(at("etc")).unwrap();
        let strings: String = strings.iter().map(|text| format!("{text}\\0")).collect();
        fs::write(at("loader.c"), format!("__attribute__((used)) static const char strings[] = \"{strings}\"; int x;"))
            .unwrap();
        let loader = at("lib").join(name);
        let interpreter = format!("-Wl,-dynamic-linker,{}", loader.display());
        for (output, kind) in [
            (&loader, &["-shared", "-fPIC"][..]),
            (&at("program"), &["-pie", "-fPIE", "-Wl,-e,0", "-Wl,--no-as-needed", &interpreter]),
        ] {
            let mut compiler = Command::new("gcc");
            compiler.args(["-nostdlib", "-o"]).arg(output).arg(at("loader.c")).args(kind).args(options);
            assert!(compiler.status().unwrap().success());
        }
        more(directory.path());
        machine_environment(&at("program"), &MachineFiles::new(), false)
    }

    #[test]
    fn musl_s_list_is_the_one_that_the_loader_names() {
        // The list's name is not that of the loader's file, and it is above the loader's own directory.
        let strings = ["musl libc (x86_64)", "%.*s/etc/ld-musl-x86_64.path"];
        let environment = environment("ld-musl-renamed.so.1", &strings, &[], |directory| {
            fs::write(directory.join("etc/ld-musl-x86_64.path"), "/opt/lib").unwrap();
            fs::write(directory.join("etc/ld-musl-renamed.path"), "/opt/wrong").unwrap();
        });
        assert_eq!(environment.rules, Rules::Musl);
        assert_eq!(environment.musl_path_file.as_deref(), Some(b"/opt/lib".as_slice()));
    }

    #[test]
    fn programs_for_other_processors_get_no_subdirectories_of_this_one() {
        let strings = ["ld.so (Debian GLIBC 2.36-9) stable release version 2.36.", "", "/lib/", ""];
        let environment = environment("ld-linux.so.2", &strings, &["-m32"], |_| {});
        assert_eq!(environment.hwcaps, Hwcaps::default());
        assert_eq!(environment.platform.as_deref(), Some(b"i686".as_slice()));
        assert_eq!((environment.ld_library_path, environment.preload_file), (None, None));
    }
}
