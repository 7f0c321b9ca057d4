//! `coldstart speedup` where it is hard: no time, no room, no rights, a kill in the middle, and checks that do not end.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use coldstart_host::process::own;
use coldstart_testing::{compile, is_root, scratch, skip, within};
use serde_json::Value;
use tempfile::TempDir;

use crate::text;

/// Long enough for any machine; a test that waits so long has failed.
const DEADLINE: Duration = Duration::from_secs(120);
/// Relocations of 48 kB.
const MUCH_TO_PACK: &str = "static int word;\n\
    #define A &word, &word, &word, &word, &word, &word, &word, &word,\n\
    #define B A A A A A A A A\n\
    int *const table[] = { B B B B B B B B B B B B B B B B B B B B B B B B B B B B B B B B };\n\
    int sum(void) { int sum = 0; for (unsigned at = 0; at < sizeof table / sizeof *table; at++) \
    sum += *((int *const volatile *)table)[at]; return sum; }\n";

/// A directory with a program that can be packed.
struct Scene {
    directory: TempDir,
}

impl Scene {
    /// With the program's `main`.
    fn new(main: &str) -> Self {
        let directory = scratch();
        let source = format!("#include <stdio.h>\n#include <unistd.h>\n{MUCH_TO_PACK}{main}");
        compile("cc", &directory.path().join("program"), &source, &["-O1", "-Wl,-z,nopack-relative-relocs"]);
        Self { directory }
    }

    fn plain() -> Self {
        Self::new("int main(void) { return !printf(\"%d\\n\", sum()); }\n")
    }

    fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.args(["speedup", "--runs", "2", "--json", "-o"]).arg(self.at("a.prefetch")).args(words);
        command.arg("--").arg(self.at("program")).current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    fn story(&self, words: &[&str]) -> Value {
        story(&self.command(words).output().unwrap())
    }
}

fn story(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// The reason in the table for a fix: of its trial, or why there was none.
fn why(story: &Value, fix: &str) -> String {
    let of = |list: &str, named: &str, reason: &str| {
        let mut found = story[list].as_array().unwrap().iter().filter(|found| found[named] == fix);
        found.find_map(|found| found[reason].as_str().map(str::to_owned))
    };
    of("trials", "name", "refused").or_else(|| of("prospects", "name", "why")).unwrap_or_default()
}

fn has_view(story: &Value) -> bool {
    let has = story["private_view"] != "none";
    if !has {
        skip(&format!("no private view: {}", story["no_private_view"]));
    }
    has
}

/// Directories of trials below some places.
fn trials(places: &[&Path]) -> Vec<PathBuf> {
    let entries = places.iter().filter_map(|place| fs::read_dir(place).ok()).flatten().filter_map(Result::ok);
    let is_one = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(".coldstart-trial-");
    entries.map(|entry| entry.path()).filter(is_one).collect()
}

#[test]
fn a_budget_for_nothing_tries_the_most_promising_fix() {
    let scene = Scene::plain();
    fs::write(scene.at("data"), vec![1; 4 << 20]).unwrap();
    let story = scene.story(&["--budget", "1s", "--fixes", "prefetch"]);
    let trials = story["trials"].as_array().unwrap();
    assert_eq!((story["fixes"].as_array().unwrap().len(), trials.len()), (1, 1), "{story:#}");
    assert!(trials[0]["refused"].as_str().unwrap().contains("no time was left"), "{story:#}");
    assert_ne!(trials[0]["name"], story["fixes"][0]["fix"]);
    assert_eq!(story["trial_measurements"], serde_json::json!([]));
    let of = |name: &Value| {
        let prospects = story["prospects"].as_array().unwrap();
        prospects.iter().find(|prospect| prospect["name"] == *name).unwrap()["predicted"].as_f64().unwrap()
    };
    assert!(of(&story["fixes"][0]["fix"]) <= of(&trials[0]["name"]), "{story:#}");
}

#[test]
fn changed_files_are_compared_with_unchanged_copies() {
    let scene = Scene::plain();
    let before = fs::read(scene.at("program")).unwrap();
    let told = scene.story(&["--fixes", "pack"]);
    if !has_view(&told) {
        return;
    }
    assert_eq!((&told["before_is_copied"], &told["fixes"][0]["unchecked"]), (&true.into(), &serde_json::json!([])));
    assert!(told["fixes"][0]["cost"]["saved_bytes"].as_u64().unwrap() >= 40_000, "{told:#}");
    assert_eq!(fs::read(scene.at("program")).unwrap(), before);
    // A plan changes no file.
    assert_eq!(scene.story(&["--fixes", "prefetch"])["before_is_copied"], false);
}

#[test]
fn a_program_that_reads_its_own_file_is_not_packed() {
    let program = format!("#define OWN \"{}\"\n", own::PROGRAM);
    let scene = Scene::new(
        &(program
            + "int main(void) { FILE *own = fopen(OWN, \"r\"); unsigned long digest = sum(); int byte;\n\
         while ((byte = getc(own)) != EOF) digest = digest * 31 + byte; return !printf(\"%lx\\n\", digest); }\n"),
    );
    let story = scene.story(&["--fixes", "pack"]);
    if has_view(&story) {
        assert!(why(&story, "pack").contains("its output differs in 3 of 3 starts with it"), "{story:#}");
        assert_eq!(story["fixes"], serde_json::json!([]));
    }
}

#[test]
fn a_program_that_names_its_namespace_notices_the_view() {
    let namespace = format!("#define NAMESPACE \"{}\"\n", own::MOUNT_NAMESPACE);
    let scene = Scene::new(
        &(namespace
            + "int main(void) { char name[99]; ssize_t length = readlink(NAMESPACE, name, sizeof name);\n\
         return length < 0 || !printf(\"%.*s %d\\n\", (int)length, name, sum()); }\n"),
    );
    let story = scene.story(&["--fixes", "pack"]);
    let reason = why(&story, "pack");
    let is_possible = reason.contains("notices the private view") || reason.contains("cannot be replaced");
    assert!(is_possible && story["private_view"] == "none", "{reason}");
}

#[test]
fn a_check_that_fails_with_a_fix_or_never_ends_is_no_proof() {
    let scene = Scene::plain();
    let check = format!("test $(stat -c %s {0}) = {1}", scene.at("program").display(), size(&scene.at("program")));
    let told = scene.story(&["--fixes", "pack", "--check", &check]);
    if has_view(&told) {
        assert!(why(&told, "pack").contains("the check fails in 3 of 3 starts with it"), "{told:#}");
        assert_eq!(told["fixes"], serde_json::json!([]));
    }
    let started = scene.at("check started");
    let check = format!("touch '{}'; sleep 98765 & sleep 98765", started.display());
    let endless = scene.command(&["--fixes", "pack", "--time-limit", "2", "--check", &check]).output().unwrap();
    assert_eq!(endless.status.code(), Some(2), "{}", text(&endless.stderr));
    assert!(started.exists() && text(&endless.stderr).contains("does not end within"), "{}", text(&endless.stderr));
}

fn size(file: &Path) -> u64 {
    file.metadata().unwrap().len()
}

/// Killed while changed files lie over others: nothing of it is seen outside, and the next run removes the copies.
#[test]
fn a_kill_in_the_middle_of_a_trial_leaves_nothing() {
    let scene = Scene::plain();
    let (program, here) = (scene.at("program"), scene.directory.path().to_owned());
    let before = fs::read(&program).unwrap();
    let seen = scene.at("a packed program was seen");
    // The check runs inside the view, where the program is smaller.
    let words = format!(
        "test $(stat -c %s '{}') = {} || {{ touch '{}'; exec sleep 98765; }}",
        program.display(),
        before.len(),
        seen.display()
    );
    let mut coldstart = scene
        .command(&["--fixes", "pack", "--check", &words])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut ended = false;
    within(DEADLINE, || {
        ended = coldstart.try_wait().unwrap().is_some();
        ended || seen.exists()
    });
    if ended {
        assert!(!has_view(&scene.story(&["--fixes", "pack"])), "it ended without a trial");
        return;
    }
    coldstart.kill().unwrap();
    coldstart.wait().unwrap();
    assert_eq!(fs::read(&program).unwrap(), before);
    let mounts = fs::read_to_string(coldstart_host::mounts::TABLE).unwrap();
    assert!(!mounts.contains(here.to_str().unwrap()), "{mounts}");
    let is_check = |number: &u32| {
        let arguments = coldstart_host::process::ProcessFiles::of(*number).arguments();
        arguments == ["sleep", "98765"].map(OsString::from)
            && coldstart_host::process::ProcessFiles::of(*number).at("cwd").read_link().ok().as_ref() == Some(&here)
    };
    let is_gone = within(DEADLINE, || !coldstart_host::process::numbers().unwrap().iter().any(is_check));
    assert!(is_gone, "the check is still running");

    let mut places = vec![Path::new("/var/tmp"), Path::new("/tmp")];
    places.extend(here.ancestors());
    let of_program = |trial: &PathBuf| {
        fs::read(trial.join("packed-0")).is_ok_and(|copy| copy.len() < before.len() && copy[..4] == before[..4])
    };
    let left: Vec<PathBuf> = trials(&places).into_iter().filter(of_program).collect();
    scene.story(&["--fixes", "pack"]);
    for trial in left {
        assert!(!trial.exists(), "{}", trial.display());
    }
}

#[test]
fn every_name_is_led_to_by_the_page() {
    let scene = Scene::plain();
    let odd = |text: &[u8]| OsString::from_vec(text.to_vec());
    let (program, page) = (odd(b"pro g\n\xfe"), odd(b"st ory\n%\xff.html"));
    fs::rename(scene.at("program"), scene.at(&program)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_coldstart"))
        .args(["speedup", "--runs", "2", "--fixes", "prefetch", "--json", "-o"])
        .arg(odd(b"pl an\n\xff"))
        .arg("--html")
        .arg(&page)
        .arg("--")
        .arg(scene.at(&program))
        .current_dir(scene.directory.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = story(&output);
    assert!(scene.at(&page).is_file() && scene.at(odd(b"pl an\n\xff")).is_file());
    let Some(link) = told["traces"]["link"].as_str() else {
        skip(&format!("no traces: {}", text(&output.stderr)));
        return;
    };
    assert_eq!(link, "st%20ory%0A%25%FF.starts.html");
    assert!(scene.at(odd(b"st ory\n%\xff.starts.html")).is_file());
}

/// A helper that may be executed and not read, as `sudo` is on some systems.
#[test]
fn a_helper_that_gains_rights_keeps_files_from_being_changed_without_root() {
    if !is_root() {
        skip("needs root to make a set-user-ID program");
        return;
    }
    let scene = Scene::new(
        "#include <stdlib.h>\nint main(void) { return !printf(\"%d\\n\", sum()) || system(\"./helper; true\"); }\n",
    );
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let at = |name: &str| directory.path().join(name);
    compile("cc", &at("helper"), "int main(void) { return 0; }", &["-static"]);
    fs::copy(scene.at("program"), at("program")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_coldstart"), at("coldstart")).unwrap();
    fs::set_permissions(at("helper"), fs::Permissions::from_mode(0o4711)).unwrap();
    let run = |program: &OsStr, more: &[&str]| {
        let mut command = coldstart_testing::as_unprivileged(at("coldstart"));
        command.args(["speedup", "--runs", "2", "--fixes", "pack", "--json", "--"]).arg(program).args(more);
        command.current_dir(directory.path()).stdin(Stdio::null()).output().unwrap()
    };
    let told = story(&run(at("program").as_os_str(), &[]));
    let reason = why(&told, "pack");
    assert!(
        reason.contains("helper` gains rights when it starts") || reason.contains("cannot be replaced"),
        "{reason}"
    );
    assert_eq!(told["private_view"], "none", "{reason}");
    // One that needs its helper's rights cannot be recorded, and the advice says why.
    let failed = run(OsStr::new("sh"), &["-c", "./helper; exit 4"]);
    let said = text(&failed.stderr);
    assert_eq!(failed.status.code(), Some(2), "{said}");
    assert!(said.contains("helper` gains rights") && said.contains("as root"), "{said}");
}
