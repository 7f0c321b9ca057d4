//! A program that gains by `bind`: 11 libraries, each searched in 40 directories.

use std::fs;
use std::path::{Path, PathBuf};

use coldstart_testing::compile;

const LIBRARIES: usize = 11;
const DIRECTORIES: usize = 40;

/// Builds it below `directory`, which is part of its search path. It prints `version`.
pub(super) fn build(directory: &Path, version: &str) -> PathBuf {
    build_with(
        directory,
        &format!("#include <stdio.h>\nint main(void) {{ printf(\"version {version}\\n\"); return zero(); }}\n"),
    )
}

/// The same with a `main` that calls `zero`.
pub(crate) fn build_with(directory: &Path, main: &str) -> PathBuf {
    let libraries = directory.join("lib");
    fs::create_dir_all(&libraries).unwrap();
    let first = libraries.join("l0.so");
    compile("cc", &first, "int zero(void) { return 0; }", &["-shared", "-fPIC"]);
    for number in 1..LIBRARIES {
        fs::copy(&first, libraries.join(format!("l{number}.so"))).unwrap();
    }
    let mut path = String::from("-Wl,-rpath,");
    for number in 0..DIRECTORIES {
        let empty = directory.join(format!("empty/{number}"));
        fs::create_dir_all(&empty).unwrap();
        path.push_str(&format!("{}:", empty.display()));
    }
    path.push_str(libraries.to_str().unwrap());
    let source = format!("int zero(void);\n{main}");
    let search = format!("-L{}", libraries.display());
    let names: Vec<String> = (0..LIBRARIES).map(|number| format!("-l:l{number}.so")).collect();
    let mut options = vec![search.as_str(), "-Wl,--no-as-needed", &path];
    options.extend(names.iter().map(String::as_str));
    let program = directory.join("searching");
    compile("cc", &program, &source, &options);
    program
}
