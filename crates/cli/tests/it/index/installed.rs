//! `index install`, and an index with a plan or an image: used where the program is started, judged, made again, undone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use coldstart_testing::{Turn, eventually, is_root, is_there, script};
use serde_json::Value;

use super::scene::{PYTHON, Scene};
use crate::text;

/// Directories in the path.
const DIRECTORIES: usize = 60;

/// A program that imports a package of each directory; with an argument it prints whether the index is in use.
fn app(scene: &Scene) -> String {
    let imports: String = (0..DIRECTORIES).map(|number| format!("import pkg{number}\n")).collect();
    let own = "value = sum(module.value for name, module in sys.modules.items() if name.startswith('pkg') and name[3:].isdigit())\n";
    format!(
        "#!{PYTHON}\nimport sys\nsys.path.pop(0)\n{imports}{own}print(value)\n\
         if len(sys.argv) > 1:\n    import importlib.machinery\n\
         \x20   print(importlib.machinery.PathFinder._get_spec.__func__.__code__.co_filename)\n\
         \x20   print({:?} in sys.path)\n",
        scene.text_of("p0")
    )
}

/// A home with the program `bin/app` and an index for it.
pub(crate) struct Home {
    pub(crate) scene: Scene,
    _turn: Turn,
}

impl Home {
    pub(crate) fn new(turn: Turn) -> Self {
        let mut scene = Scene::new();
        let entries: Vec<String> = (0..DIRECTORIES).map(|number| format!("p{number}")).collect();
        for (number, entry) in entries.iter().enumerate() {
            scene.file(&format!("{entry}/pkg{number}/__init__.py"), &format!("from . import sub\nvalue = {number}\n"));
            scene.file(&format!("{entry}/pkg{number}/sub.py"), "");
        }
        scene.search("PYTHONPATH", &entries.iter().map(String::as_str).collect::<Vec<_>>());
        fs::create_dir_all(scene.path("bin")).unwrap();
        script(&scene.path("bin"), "app", app(&scene), 0o755);
        Self { scene, _turn: turn }
    }

    pub(crate) fn ours(&self, words: &[&str]) -> Output {
        self.scene.command(env!("CARGO_BIN_EXE_coldstart")).args(words).output().unwrap()
    }

    #[track_caller]
    pub(crate) fn succeeds(&self, words: &[&str]) -> String {
        let output = self.ours(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}{}", text(&output.stderr), text(&output.stdout));
        text(&output.stdout)
    }

    #[track_caller]
    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.succeeds(&[words, &["--json"]].concat())).unwrap()
    }

    #[track_caller]
    fn refused(&self, words: &[&str], reason: &str) {
        let output = self.ours(words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(reason) && said.contains("hint: "), "{said}");
        assert!(self.succeeds(&["installed", "--user"]).contains("nothing is installed"));
    }

    fn make(&self) {
        self.succeeds(&["index", "make", "-o", "app.index", "--", "bin/app"]);
    }

    /// Installs the index for this user.
    #[track_caller]
    fn install(&self, places: &[&str]) -> Value {
        let words = [&["index", "install", "--user", "--json"][..], places, &["app.index", "--", "bin/app"]].concat();
        serde_json::from_str(&self.succeeds(&words)).unwrap()
    }

    pub(crate) fn wrapper(&self) -> PathBuf {
        self.scene.path(".local/bin/app")
    }

    fn installation(&self) -> PathBuf {
        self.scene.path(".local/share/coldstart/installed/app")
    }

    /// The state of the installation, and all that is said of it.
    #[track_caller]
    pub(crate) fn report(&self, health: &str) -> Value {
        let output = self.ours(&["installed", "app", "--user", "--json"]);
        let listing: Value = serde_json::from_slice(&output.stdout).unwrap();
        let report = listing["installations"][0].clone();
        assert_eq!(report["health"], health, "{report:#}");
        report
    }

    /// Starts a program with an argument, which has to find all its modules; whether it uses the index.
    #[track_caller]
    pub(crate) fn uses_index(&self, program: &Path) -> bool {
        let output = self.scene.command(program).arg("asked").output().unwrap();
        let said = text(&output.stdout);
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{said}");
        let value = DIRECTORIES * (DIRECTORIES - 1) / 2;
        assert!(said.starts_with(&format!("{value}\n")) && said.ends_with("True\n"), "{said}");
        said.contains("<coldstart index>")
    }
}

#[test]
fn an_index_is_installed_used_judged_made_again_and_undone() {
    let home = Home::new(Turn::shared("page-cache"));
    let wrapper = home.wrapper();
    fs::create_dir_all(wrapper.parent().unwrap()).unwrap();
    fs::write(&wrapper, "what stood there").unwrap();
    home.make();
    let outcome = home.install(&["--place", "wrapper"]);
    assert_eq!(outcome["index"]["languages"], serde_json::json!(["Python"]), "{outcome:#}");
    assert!(outcome["index"]["bytes"].as_u64().unwrap() > 0, "{outcome:#}");
    assert_eq!(home.report("fresh")["fixes"], serde_json::json!(["index"]));
    // It was copied.
    fs::remove_dir_all(home.scene.path("app.index")).unwrap();
    assert!(home.uses_index(&wrapper));
    // A module that changes is noticed by the program at once.
    home.scene.file("p9/pkg9/__init__.py", "value = 9 # edited\n");
    assert!(home.uses_index(&wrapper));
    let report = home.report("stale");
    assert!(report["stale_files"].to_string().contains("pkg9"), "{report:#}");
    assert!(report["next_step"].as_str().unwrap().ends_with("--refresh"), "{report:#}");
    let refreshed = home.json(&["installed", "app", "--user", "--refresh"]);
    let calls = |number: usize| refreshed["index_calls"][number].as_u64().unwrap();
    assert!(calls(1) * 2 < calls(0), "{refreshed}");
    home.report("fresh");
    // Without the index it starts as before.
    fs::remove_dir_all(home.installation().join("index/current/python")).unwrap();
    assert!(!home.uses_index(&wrapper));
    assert_eq!(home.report("broken")["remedy"], "refresh");
    fs::remove_dir_all(home.installation().join("index")).unwrap();
    assert!(!home.uses_index(&wrapper));
    fs::remove_file(&wrapper).unwrap();
    home.report("broken");
    assert!(home.succeeds(&["installed", "--user", "--refresh"]).contains("its places were written again"));
    assert!(home.uses_index(&wrapper));
    home.report("fresh");
    home.succeeds(&["installed", "app", "--user", "--uninstall"]);
    assert!(!home.installation().exists() && !wrapper.exists(), "what was removed meanwhile is not brought back");
}

#[test]
fn every_place_starts_with_the_index_and_what_stood_there_comes_back() {
    let home = Home::new(Turn::shared("page-cache"));
    home.make();
    let entry = home.scene.file(".local/share/applications/app.desktop", &desktop_entry(&home));
    let unit = home.scene.file(".config/systemd/user/app.service", &unit(&home));
    let before = [fs::read(&entry).unwrap(), fs::read(&unit).unwrap()];
    fs::create_dir(home.scene.path("modules")).unwrap();
    let modules = format!("modulefile={}", home.scene.text_of("modules"));
    let places = ["--place", "wrapper", "--place", "desktop", "--place", "unit=app.service", "--place", &modules];
    let outcome = home.install(&places);
    assert_eq!(outcome["places"].as_array().unwrap().len(), 4, "{outcome:#}");
    assert!(home.uses_index(&home.installation().join("bin/app")));
    let start = home.installation().join("start");
    let output = home.scene.command(&start).arg(home.scene.path("bin/app")).arg("asked").output().unwrap();
    assert!(text(&output.stdout).contains("<coldstart index>"), "{}", text(&output.stdout));
    let drop_in = fs::read_to_string(home.scene.path(".config/systemd/user/app.service.d/coldstart.conf")).unwrap();
    assert!(drop_in.contains(start.to_str().unwrap()), "{drop_in}");
    assert!(text(&fs::read(&entry).unwrap()).contains(start.to_str().unwrap()));
    home.report("fresh");
    home.succeeds(&["installed", "app", "--user", "--uninstall"]);
    assert_eq!([fs::read(&entry).unwrap(), fs::read(&unit).unwrap()], before);
    assert_eq!(fs::read_dir(home.scene.path("modules")).unwrap().count(), 0);
}

fn desktop_entry(home: &Home) -> String {
    format!("[Desktop Entry]\nType=Application\nName=App\nExec={} %f\n", home.scene.text_of("bin/app"))
}

fn unit(home: &Home) -> String {
    format!("[Service]\nType=exec\nExecStart={}\n", home.scene.text_of("bin/app"))
}

#[test]
fn what_is_no_index_or_has_nothing_to_read_after_login_is_refused() {
    let home = Home::new(Turn::shared("page-cache"));
    home.refused(&["index", "install", "--user", "p0", "--", "bin/app"], "not an index made by coldstart");
    home.make();
    let index = |more: &[&'static str]| {
        let words = ["index", "install", "--user"];
        [&words[..], more, &["app.index", "--", "bin/app"]].concat()
    };
    home.refused(&index(&["--place", "login"]), "nothing is read after login");
    home.refused(&index(&["--place", "mount"]), "only an image can be mounted");
    // The interpreter could not be told where it lies.
    let mut command = home.scene.command(env!("CARGO_BIN_EXE_coldstart"));
    command.args(index(&["--place", "wrapper"])).env("XDG_DATA_HOME", home.scene.path("a:b"));
    let output = command.output().unwrap();
    assert!(text(&output.stderr).contains("separates entries"), "{}", text(&output.stderr));
    // All users would run its code.
    if is_root() {
        let file = home.scene.path("app.index/current/python/hook.bin");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        home.refused(
            &["index", "install", "--name", "app-of-a-test", "app.index", "--", "bin/app"],
            "others than root",
        );
    }
}

#[test]
fn a_plan_and_an_index_are_installed_together_and_each_serves_without_the_other() {
    let home = Home::new(Turn::alone("page-cache"));
    home.make();
    let run = ["coldstart", "index", "run", "app.index", "--", "bin/app"];
    let ours = env!("CARGO_BIN_EXE_coldstart");
    home.succeeds(&[&["prefetch", "record", "-o", "app.prefetch", "--", ours][..], &run[1..]].concat());
    let words = ["prefetch", "install", "--user", "--place", "wrapper", "--index", "app.index"];
    home.succeeds(&[&words[..], &["app.prefetch", "--", "bin/app"]].concat());
    assert_eq!(home.report("fresh")["fixes"], serde_json::json!(["index", "prefetch"]));
    let wrapper = home.wrapper();
    assert!(home.uses_index(&wrapper));
    let (plan, manifest) =
        (home.installation().join("plan.prefetch"), home.installation().join("index/current/coldstart-index"));
    for (missing, has_index) in [(&plan, true), (&manifest, false)] {
        let aside = missing.with_extension("aside");
        fs::rename(missing, &aside).unwrap();
        assert_eq!(home.uses_index(&wrapper), has_index, "{}", missing.display());
        home.report("broken");
        fs::rename(&aside, missing).unwrap();
    }
    // Recorded again, it is recorded with the index, whose own files the launcher reads.
    fs::remove_dir_all(home.scene.path("app.index")).unwrap();
    home.report("stale");
    home.succeeds(&["installed", "app", "--user", "--refresh"]);
    home.report("fresh");
    assert!(home.uses_index(&wrapper));
    let shown = home.json(&["prefetch", "show", plan.to_str().unwrap(), "--limit", "0"]).to_string();
    assert!(shown.contains("/bin/app") && !shown.contains("installed/app/index"), "{shown}");
    assert!(!shown.contains("pkg7/__pycache__"), "its code comes from the index: {shown}");
    home.succeeds(&["installed", "app", "--user", "--uninstall"]);
    assert!(!home.installation().exists());
}

#[test]
fn an_image_and_an_index_are_installed_together() {
    if !is_root() {
        return;
    }
    let home = Home::new(Turn::alone("page-cache"));
    home.make();
    let ours = env!("CARGO_BIN_EXE_coldstart");
    home.succeeds(&["image", "make", "-o", "app.erofs", "--", ours, "index", "run", "app.index", "--", "bin/app"]);
    let words = ["image", "install", "--user", "--place", "wrapper", "--index", "app.index"];
    home.succeeds(&[&words[..], &["app.erofs", "--", "bin/app"]].concat());
    assert_eq!(home.report("fresh")["fixes"], serde_json::json!(["index", "image"]));
    assert!(home.uses_index(&home.wrapper()));
    home.succeeds(&["installed", "app", "--user", "--refresh"]);
    home.report("fresh");
    assert!(home.uses_index(&home.wrapper()));
    home.succeeds(&["installed", "app", "--user", "--uninstall"]);
    assert!(!home.installation().exists());
}

#[test]
fn a_program_for_node_starts_without_its_hook() {
    const NODE: &str = "/usr/bin/node";
    if !is_there(NODE) {
        coldstart_testing::skip("node is missing");
        return;
    }
    let home = Home::new(Turn::shared("page-cache"));
    let app = "console.log((process.env.NODE_OPTIONS || '').includes('hook.js'));\n";
    script(&home.scene.path("bin"), "app", format!("#!{NODE}\n{app}"), 0o755);
    // Programs that print the variable differ with an index.
    home.scene.file("plain.js", "require('fs');\n");
    home.succeeds(&["index", "make", "-o", "app.index", "--", NODE, "plain.js"]);
    home.install(&["--place", "wrapper"]);
    let printed = || text(&home.scene.command(home.wrapper()).output().unwrap().stdout);
    assert_eq!(printed(), "true\n");
    fs::remove_file(home.installation().join("index/current/node/hook.js")).unwrap();
    assert_eq!(printed(), "false\n");
    assert!(home.report("broken")["reasons"].to_string().contains("hook.js"));
}

#[test]
fn a_refresh_that_is_killed_leaves_the_index_in_use() {
    let home = Home::new(Turn::shared("page-cache"));
    home.make();
    home.install(&["--place", "wrapper"]);
    // It waits until it is killed: the index is being made.
    let waiting = format!("#!/bin/sh\necho > {}\nsleep 600\n", home.scene.text_of("begun"));
    let aside = home.scene.path("bin/aside");
    fs::rename(home.scene.path("bin/app"), &aside).unwrap();
    script(&home.scene.path("bin"), "app", waiting, 0o755);
    let mut refresh = home.scene.command(env!("CARGO_BIN_EXE_coldstart"));
    let mut refresh = refresh.args(["installed", "app", "--user", "--refresh"]).spawn().unwrap();
    eventually("the second start", || home.scene.path("begun").exists());
    refresh.kill().unwrap();
    refresh.wait().unwrap();
    fs::rename(&aside, home.scene.path("bin/app")).unwrap();
    assert!(home.uses_index(&home.wrapper()));
    home.succeeds(&["installed", "app", "--user", "--repair"]);
    assert!(!home.installation().join("new.index").exists());
    home.succeeds(&["installed", "app", "--user", "--refresh"]);
    home.report("fresh");
}
