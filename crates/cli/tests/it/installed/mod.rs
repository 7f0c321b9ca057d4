//! `coldstart prefetch install` and `coldstart installed`, in a home of its own.

mod service_manager;
mod upkeep;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coldstart_testing::{Turn, copy_program};
use serde_json::Value;
use tempfile::TempDir;

use crate::text;

struct Home {
    directory: TempDir,
    program: PathBuf,
    _turn: Turn,
}

impl Home {
    /// For tests that neither make caches cold nor look at them.
    fn new() -> Self {
        Self::with(Turn::shared("page-cache"))
    }

    /// For tests that do.
    fn alone() -> Self {
        Self::with(Turn::alone("page-cache"))
    }

    fn with(turn: Turn) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let program = directory.path().join("my app");
        copy_program(Path::new("/bin/true"), &program);
        Self { directory, program, _turn: turn }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn run(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_coldstart"))
            .args(words)
            .current_dir(self.directory.path())
            .env("HOME", self.directory.path())
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .unwrap()
    }

    fn succeeds(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn install(&self) {
        let program = self.program.to_str().unwrap();
        self.succeeds(&["prefetch", "record", "--as-is", "-o", "a.prefetch", "--", program]);
        self.succeeds(&["prefetch", "install", "--user", "--place", "wrapper", "a.prefetch", "--", program]);
    }

    fn health(&self) -> (Option<i32>, Value) {
        let output = self.run(&["installed", "my app", "--user", "--json"]);
        let listing: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), listing["installations"][0].clone())
    }
}

#[test]
fn a_plan_is_installed_used_listed_and_undone() {
    let home = Home::new();
    let wrapper = home.at(".local/bin/my app");
    fs::create_dir_all(wrapper.parent().unwrap()).unwrap();
    fs::write(&wrapper, "what stood there").unwrap();
    home.install();
    assert!(Command::new(&wrapper).status().unwrap().success());
    let (code, report) = home.health();
    assert_eq!((code, &report["health"]), (Some(0), &"fresh".into()), "{report:#}");
    assert_eq!(home.run(&["installed", "none", "--user"]).status.code(), Some(2));
    // Also when the program is gone.
    fs::remove_file(&home.program).unwrap();
    let (code, report) = home.health();
    assert_eq!((code, &report["health"]), (Some(1), &"broken".into()), "{report:#}");
    assert!(report["next_step"].as_str().unwrap().contains("--uninstall"), "{report:#}");
    home.succeeds(&["installed", "my app", "--user", "--uninstall"]);
    assert_eq!(fs::read_to_string(&wrapper).unwrap(), "what stood there");
    assert!(home.succeeds(&["installed", "--user"]).contains("nothing is installed"));
}

#[test]
fn a_changed_file_makes_it_stale_until_it_is_refreshed() {
    let home = Home::alone();
    home.install();
    let mut bytes = fs::read(&home.program).unwrap();
    bytes.push(0);
    fs::remove_file(&home.program).unwrap();
    fs::write(home.at("new"), bytes).unwrap();
    copy_program(home.at("new"), &home.program);
    fs::set_permissions(&home.program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (code, report) = home.health();
    assert_eq!((code, &report["health"]), (Some(1), &"stale".into()), "{report:#}");
    assert!(report["stale_files"].to_string().contains("my app"), "{report:#}");
    home.succeeds(&["installed", "my app", "--user", "--refresh"]);
    assert_eq!(home.health().1["health"], "fresh");
    fs::remove_file(home.at(".local/bin/my app")).unwrap();
    assert_eq!(home.health().1["health"], "broken");
    home.succeeds(&["installed", "my app", "--user", "--refresh"]);
    assert_eq!(home.health().1["health"], "fresh");
    assert!(home.succeeds(&["installed", "--user", "--repair"]).contains("nothing to repair"));
}

#[test]
fn what_cannot_be_installed_is_refused_with_advice_and_leaves_nothing() {
    let home = Home::new();
    let program = home.program.to_str().unwrap().to_owned();
    home.succeeds(&["prefetch", "record", "--as-is", "-o", "a.prefetch", "--", &program]);
    for place in ["nowhere", "unit=none.service", "desktop=none", "wrapper=", "wrapper=."] {
        let output = home.run(&["prefetch", "install", "--user", "--place", place, "a.prefetch", "--", &program]);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("hint: "), "{place}: {said}");
        assert!(home.succeeds(&["installed", "--user"]).contains("nothing is installed"), "{place}");
    }
}
