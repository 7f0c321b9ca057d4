//! The survey by Spark, on a cluster of two worker processes of this machine. The scripts in `tests/spark` check for themselves.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use coldstart_testing::{PATIENCE, PythonPackages, Turn, compile, is_there, skip, within};
use rustix::process::{Pid, Signal, kill_process_group};

use super::package;

/// Spark with all its processes, which end with it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            // It has ended already when all went well.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// Runs a script with these arguments beside a tree of 13,000 files, which are four shards.
#[track_caller]
fn checks(script: &str, arguments: &[&str]) {
    if !is_there("java") {
        return skip("needs java");
    }
    let Some(directory) = package() else { return };
    let [Some(tables), Some(spark)] = [PythonPackages::Tables, PythonPackages::Spark].map(PythonPackages::directory)
    else {
        return;
    };
    let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/spark");
    // Each has three processes of Java.
    let _one = Turn::alone("spark");
    make_tree(directory.path());
    fs::write(directory.path().join("documented.py"), documented(directory.path())).unwrap();
    let path = [directory.path(), &scripts, &tables, &spark].map(|path| path.to_str().unwrap().to_owned()).join(":");
    let [out, err] = ["stdout", "stderr"].map(|name| directory.path().join(name));
    let mut command = Command::new("python3");
    command.arg(scripts.join(script)).args(arguments).current_dir(directory.path()).env("PYTHONPATH", path);
    command.env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null()).process_group(0);
    // Short lives: optimising what runs for seconds doubles their processor time.
    command.env("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
    command.stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
    let mut running = Running(command.spawn().unwrap());
    // Spark starts its processes of Java one after the other.
    let has_ended = within(3 * PATIENCE, || running.0.try_wait().unwrap().is_some());
    let said = [&out, &err].map(|file| fs::read_to_string(file).unwrap());
    assert!(has_ended, "{script} does not end: {said:?}");
    assert!(
        running.0.wait().unwrap().success() && said[0].ends_with("checked\n"),
        "{script}:\n{}\n{}",
        said[0],
        said[1]
    );
}

/// Every tenth file is an object.
fn make_tree(directory: &Path) {
    let options = ["-shared", "-fPIC", "-s"];
    let library = compile("cc", &directory.join("lib.so"), "int *p, x; void f(void) { p = &x; }", &options);
    let bytes = fs::read(library).unwrap();
    fs::create_dir(directory.join("tree")).unwrap();
    for number in 0..13_000 {
        let bytes = if number % 10 == 0 { &bytes[..] } else { b"" };
        fs::write(directory.join(format!("tree/{number}")), bytes).unwrap();
    }
}

/// The example of `docs/scale.md` for these files.
fn documented(directory: &Path) -> String {
    let page = include_str!("../../../../docs/scale.md");
    let example =
        page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).expect("there is an example");
    let [tree, out] = ["tree", "out"].map(|name| directory.join(name).display().to_string());
    example.replace("/srv/packages", &tree).replace("/srv/survey", &out)
}

#[test]
fn two_workers_make_what_one_process_makes() {
    checks("same.py", &[]);
}

#[test]
fn a_killed_process_of_python_changes_nothing() {
    checks("killed.py", &["python"]);
}

#[test]
fn a_killed_executor_changes_nothing() {
    checks("killed.py", &["executor"]);
}

#[test]
fn workers_with_another_version_are_refused() {
    checks("version.py", &[]);
}
