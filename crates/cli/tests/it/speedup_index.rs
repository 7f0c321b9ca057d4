//! `coldstart speedup` with the fix "index": predicted, proven, chosen with others, installed, and refused with a reason.

use std::fs;
use std::process::{Command, Output, Stdio};

use coldstart_testing::{Turn, as_unprivileged, is_root, skip, succeed};
use serde_json::Value;

use crate::index::installed::Home;
use crate::index::scene::PYTHON;
use crate::speedup_install::searching;
use crate::text;

fn story(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// What is said of the index before it is tried.
fn prospect(story: &Value) -> Value {
    let prospects = story["prospects"].as_array().unwrap();
    prospects.iter().find(|found| found["kind"] == "index").unwrap_or_else(|| panic!("{story:#}")).clone()
}

#[test]
fn an_index_is_predicted_proven_installed_and_undone() {
    let home = Home::new(Turn::alone("page-cache"));
    let words = ["speedup", "--install", "--anyway", "--user", "--runs", "2", "--fixes", "index", "--place", "wrapper"];
    let done = home.ours(&[&words[..], &["--json", "--html", "story.html", "--", "bin/app"]].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let story = story(&done);
    let prospect = prospect(&story);
    assert_eq!((&prospect["applies"], prospect["predicted"].is_f64()), (&true.into(), true), "{prospect:#}");
    let fix = &story["fixes"][0];
    assert_eq!((&fix["kinds"], &fix["proven"]), (&serde_json::json!(["index"]), &true.into()), "{fix:#}");
    assert!(fix["findings"].to_string().contains("modules from the same files"), "{fix:#}");
    assert!(fix["cost"]["index_bytes"].as_u64().unwrap() > 0, "{fix:#}");
    let command = fix["command"].as_str().unwrap();
    assert!(command.contains("index make -o app.index -- bin/app && coldstart index install app.index"), "{command}");
    // The plan and the page lie in the working directory, which is none of the modules': nothing has to be made again.
    assert!(home.uses_index(&home.wrapper()));
    assert_eq!(home.report("fresh")["fixes"], serde_json::json!(["index"]));
    let page = fs::read_to_string(home.scene.path("story.html")).unwrap();
    assert!(page.contains("index_bytes"), "the page has the story");
    home.succeeds(&["speedup", "--uninstall", "--user", "--", "bin/app"]);
    assert!(!home.wrapper().exists());
    let mut left: Vec<_> = fs::read_dir(home.scene.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.retain(|name| !name.to_string_lossy().starts_with('p') && !name.to_string_lossy().starts_with("story."));
    left.sort();
    assert_eq!(left, [".local", "app.prefetch", "bin"], "no copy of a trial is left");
}

#[test]
fn an_index_of_the_directory_in_which_the_plan_is_written_is_made_again() {
    let home = Home::new(Turn::alone("page-cache"));
    let imports: String = (0..60).map(|number| format!("import pkg{number}\n")).collect();
    home.scene.file("here.py", &format!("{imports}import helper\nprint(helper.value)\n"));
    home.scene.file("helper.py", "value = 'helped'\n");
    let words = ["speedup", "--install", "--anyway", "--user", "--runs", "2", "--fixes", "index", "--place", "wrapper"];
    home.succeeds(&[&words[..], &["--name", "app", "--", "/usr/bin/python3", "here.py"]].concat());
    assert!(home.scene.path("python3.prefetch").is_file());
    home.report("fresh");
    let wrapper = home.wrapper().with_file_name("python3");
    let output = home.scene.command(wrapper).arg("here.py").output().unwrap();
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(0), "helped\n"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn an_index_and_a_plan_are_measured_cold_and_hot() {
    let home = Home::new(Turn::alone("page-cache"));
    let output = home.ours(&["speedup", "--runs", "2", "--fixes", "index,prefetch", "--json", "--", "bin/app"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    let story = story(&output);
    let trials = story["trials"].as_array().unwrap();
    for name in ["index", "prefetch, cached pages"] {
        let trial = trials.iter().find(|trial| trial["name"] == name).unwrap_or_else(|| panic!("{story:#}"));
        assert_eq!(trial["proven"], true, "{trial:#}");
        assert!(trial["median"].is_f64() && trial["hot_median"].is_f64(), "{trial:#}");
        assert_eq!((&trial["comparison"]["state"], &trial["hot_comparison"]["state"]), (&story["cold"], &"hot".into()));
    }
}

#[test]
fn an_index_is_installed_with_a_bound_program_and_an_image_of_it() {
    if let Err(error) = coldstart_sys::private_mounts::possible() {
        return skip(&format!("no private view: {error}"));
    }
    let home = Home::new(Turn::alone("page-cache"));
    // A program of many libraries that becomes the interpreter.
    let main = format!(
        "#include <unistd.h>\nint main(int count, char **words) {{\n\
         \x20 char *next[] = {{ \"{PYTHON}\", \"{}\", count > 1 ? words[1] : 0, 0 }};\n\
         \x20 return zero() || execv(next[0], next);\n}}\n",
        home.scene.text_of("bin/app")
    );
    let program = searching::build_with(&home.scene.root(), &main);
    let original = fs::read(&program).unwrap();
    let kinds = if is_root() { vec!["bind", "index", "image"] } else { vec!["bind", "index"] };
    let asked = kinds.join(",");
    let words = ["speedup", "--install", "--anyway", "--user", "--runs", "2", "--together", "--place", "wrapper"];
    let output = home.ours(&[&words[..], &["--fixes", &asked, "--json", "--", "./searching"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stderr), text(&output.stdout));
    let story = story(&output);
    assert_eq!(
        (&story["fixes"][0]["kinds"], &story["fixes"][0]["proven"]),
        (&serde_json::json!(kinds), &true.into()),
        "{story:#}"
    );
    assert_eq!(story["trials"], serde_json::json!([]), "nothing was chosen: {story:#}");
    let listed = home.ours(&["installed", "searching", "--user", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let report = &listed["installations"][0];
    let fixes = serde_json::json!([kinds.join(" + ")]);
    assert_eq!((&report["fixes"], &report["health"]), (&fixes, &"fresh".into()), "{report:#}");

    let wrapper = home.wrapper().with_file_name("searching");
    assert!(home.uses_index(&wrapper) && fs::read(&program).unwrap() != original);
    let output = home.scene.command(&wrapper).env("LD_DEBUG", "libs").output().unwrap();
    let told = text(&output.stderr);
    let tried: Vec<&str> = told.lines().filter(|line| line.contains("trying file=")).collect();
    assert!(tried.iter().any(|line| line.contains("/links/")), "{tried:?}");
    assert!(
        !tried.iter().any(|line| line.contains("/empty/")),
        "the loader still probes directories without the library: {tried:?}"
    );
    if is_root() {
        // Whatever is started by it sees the files of the image.
        let start = home.scene.path(".local/share/coldstart/installed/searching/start");
        let mounts = succeed(home.scene.command(&start).args(["cat", coldstart_host::mounts::TABLE]));
        let covered = mounts.lines().filter(|line| line.contains(" - erofs "));
        let named = format!(" {} ", program.display());
        assert!(covered.clone().any(|line| line.contains(&named)), "{mounts}");
    }
    // Index and image were made again by then, with the bound program in place.
    home.succeeds(&["speedup", "--uninstall", "--user", "--", "./searching"]);
    assert_eq!(fs::read(&program).unwrap(), original);
    assert!(!wrapper.exists());
}

#[test]
fn what_an_index_does_not_fit_is_told_plainly() {
    let home = Home::new(Turn::alone("page-cache"));
    let why = |program: &[&str]| {
        let words = ["speedup", "--runs", "2", "--fixes", "index", "--json", "--force", "-o", "x.prefetch", "--"];
        let output = home.ours(&[&words[..], program].concat());
        assert_eq!(output.status.code(), Some(1), "{program:?}: {}", text(&output.stderr));
        let story = story(&output);
        assert_eq!(story["fixes"], serde_json::json!([]), "{story:#}");
        (prospect(&story)["why"].as_str().unwrap().to_owned(), story["trials"].to_string())
    };
    assert!(why(&["true"]).0.contains("started no interpreter that coldstart knows"));
    // One that can tell the difference, and says so.
    let app = "import importlib.machinery, pkg1\nprint(importlib.machinery.PathFinder._get_spec.__func__.__code__.co_filename)\n";
    home.scene.file("curious.py", app);
    let (_, trials) = why(&["/usr/bin/python3", "curious.py"]);
    assert!(trials.contains("the program is not the same with it"), "{trials}");
}

#[test]
fn a_user_without_rights_has_an_index_tried() {
    if !is_root() {
        return;
    }
    let _turn = Turn::alone("page-cache");
    // Where others than root may enter.
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    coldstart_testing::copy_program(env!("CARGO_BIN_EXE_coldstart"), at("coldstart"));
    let mut path = Vec::new();
    for number in 0..60 {
        let package = at(&format!("p{number}/pkg{number}"));
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("__init__.py"), "value = 1\n").unwrap();
        path.push(at(&format!("p{number}")));
    }
    let imports: String = (0..60).map(|number| format!("import pkg{number}\n")).collect();
    fs::write(at("app.py"), imports + "print('done')\n").unwrap();
    let mut command: Command = as_unprivileged(at("coldstart"));
    command.args(["speedup", "--runs", "2", "--fixes", "index", "--json", "--", "/usr/bin/python3", "app.py"]);
    command.env("PYTHONPATH", std::env::join_paths(path).unwrap()).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("HOME", directory.path()).current_dir(directory.path()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let story = story(&output);
    let fix = &story["fixes"][0];
    assert_eq!((&fix["kinds"], &fix["proven"]), (&serde_json::json!(["index"]), &true.into()), "{story:#}");
}
