//! What `coldstart inspect --closure` recommends where the search for libraries is dear.

use std::path::Path;
use std::process::Command;

use coldstart_testing::one_line;

/// Builds with gcc, in a folder.
fn gcc(folder: &Path, arguments: &[String]) {
    assert!(Command::new("gcc").current_dir(folder).args(arguments).status().unwrap().success());
}

#[test]
fn failed_probes_are_answered_with_the_commands_that_are_there() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut arguments: Vec<String> = ["-o", "program", "main.c", "-Wl,--no-as-needed"].map(str::to_owned).into();
    std::fs::write(directory.path().join("main.c"), "int main(void) { return 0; }").unwrap();
    std::fs::write(directory.path().join("part.c"), "int part;").unwrap();
    for number in 0..6 {
        let folder = directory.path().join(format!("folder{number}"));
        std::fs::create_dir(&folder).unwrap();
        let name = folder.join(format!("libpart{number}.so")).display().to_string();
        let soname = format!("-Wl,-soname,libpart{number}.so");
        gcc(directory.path(), &["-shared", "-fPIC", "-o", &name, &soname, "part.c"].map(str::to_owned));
        arguments.extend([name, format!("-Wl,-rpath,{}", folder.display())]);
    }
    gcc(directory.path(), &arguments);
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.current_dir(directory.path()).args(["inspect", "--closure", "./program"]).env_remove("LD_LIBRARY_PATH");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let text = one_line(&text);
    assert!(text.contains("`coldstart bind --in-place ./program`; `coldstart resolve ./program` lists"), "{text}");
    assert!(!text.contains("coldstart ldcache"), "a run path goes before the cache: {text}");
}
