//! The folder of links on disk: put in place whole, exchanged whole, removed only when it is ours.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use coldstart_bind::{
    FarmError, FarmLink, FarmPlan, FarmRemoved, FarmWritten, MARKER_NAME, check_farm_place, remove_farm, write_farm,
};
use coldstart_host::process::SELF;
use coldstart_testing::{NOBODY, is_root};

fn link(name: &str, level: Option<&str>, target: &str) -> FarmLink {
    FarmLink { name: name.to_owned(), level: level.map(str::to_owned), target: target.to_owned(), found: target.into() }
}

fn farm(scratch: &Path, links: Vec<FarmLink>) -> FarmPlan {
    let program = scratch.join("app");
    fs::write(&program, "").unwrap();
    FarmPlan {
        directory: scratch.join("farm"),
        text: "$ORIGIN/farm".to_owned(),
        program,
        links,
        same_levels: Vec::new(),
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_farm_comes_changes_and_goes_at_one_blow() {
    let scratch = tempfile::tempdir().unwrap();
    let first = farm(scratch.path(), vec![link("liba.so", None, "/a"), link("liba.so", Some("x86-64-v3"), "/v3")]);
    let place = first.directory.clone();
    check_farm_place(&first).unwrap();
    assert_eq!(write_farm(&first, &place).unwrap(), FarmWritten::Made);
    assert_eq!(fs::read_link(place.join("liba.so")).unwrap(), Path::new("/a"));
    assert_eq!(fs::read_link(place.join("glibc-hwcaps/x86-64-v3/liba.so")).unwrap(), Path::new("/v3"));
    for folder in [place.clone(), place.join("glibc-hwcaps"), place.join("glibc-hwcaps/x86-64-v3")] {
        assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o7777, 0o755);
    }
    assert_eq!(fs::metadata(place.join(MARKER_NAME)).unwrap().permissions().mode() & 0o7777, 0o644);
    let bytes = fs::read(place.join(MARKER_NAME)).unwrap();
    assert_eq!(write_farm(&first, &place).unwrap(), FarmWritten::Unchanged);

    let second = farm(scratch.path(), vec![link("libb.so", None, "/b")]);
    assert_eq!(write_farm(&second, &place).unwrap(), FarmWritten::Exchanged);
    assert_eq!(names(&place), [MARKER_NAME, "libb.so"]);
    assert_eq!(names(scratch.path()), ["app", "farm"]);

    // A link that is gone is made anew.
    fs::remove_file(place.join("libb.so")).unwrap();
    assert_eq!(write_farm(&second, &place).unwrap(), FarmWritten::Exchanged);
    assert_eq!(write_farm(&first, &place).unwrap(), FarmWritten::Exchanged);
    assert_eq!(fs::read(place.join(MARKER_NAME)).unwrap(), bytes);
    assert_eq!(remove_farm(&place, Some(&first.program)).unwrap(), FarmRemoved::Removed);
    assert_eq!(remove_farm(&place, Some(&first.program)).unwrap(), FarmRemoved::WasGone);
    assert_eq!(names(scratch.path()), ["app"]);
}

#[test]
fn what_is_not_ours_stays() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = farm(scratch.path(), vec![link("liba.so", None, "/a")]);
    let place = plan.directory.clone();
    // A folder, a file, a link: none is a farm.
    fs::create_dir(&place).unwrap();
    assert!(matches!(write_farm(&plan, &place), Err(FarmError::NotOurs(_))));
    assert!(matches!(remove_farm(&place, None), Err(FarmError::NotOurs(_))));
    fs::remove_dir(&place).unwrap();
    fs::write(&place, "mine").unwrap();
    assert!(matches!(write_farm(&plan, &place), Err(FarmError::NotOurs(_))));
    fs::remove_file(&place).unwrap();
    symlink(scratch.path(), &place).unwrap();
    assert!(matches!(check_farm_place(&plan), Err(FarmError::NotOurs(_))));
    fs::remove_file(&place).unwrap();

    write_farm(&plan, &place).unwrap();
    let other = scratch.path().join("other");
    fs::write(&other, "").unwrap();
    let of_other = FarmPlan { program: other.clone(), ..plan.clone() };
    let error = write_farm(&of_other, &place).unwrap_err();
    assert!(matches!(error, FarmError::OtherProgram { .. }) && error.hint().is_some(), "{error}");
    assert!(matches!(remove_farm(&place, Some(&other)), Err(FarmError::OtherProgram { .. })));

    // Something was put in, or a link was turned elsewhere.
    for put in [|path: &Path| fs::write(path, "mine").unwrap(), |path: &Path| symlink("/mine", path).unwrap()] {
        put(&place.join("precious"));
        assert!(matches!(write_farm(&plan, &place), Err(FarmError::Foreign(path)) if path.ends_with("precious")));
        assert!(matches!(remove_farm(&place, None), Err(FarmError::Foreign(_))));
        fs::remove_file(place.join("precious")).unwrap();
    }
    fs::remove_file(place.join("liba.so")).unwrap();
    symlink("/elsewhere", place.join("liba.so")).unwrap();
    assert!(matches!(remove_farm(&place, None), Err(FarmError::Foreign(path)) if path.ends_with("liba.so")));
    assert_eq!(names(&place), [MARKER_NAME, "liba.so"]);
}

#[test]
fn names_cannot_lead_out_of_the_farm() {
    let scratch = tempfile::tempdir().unwrap();
    for name in ["../liba.so", "/liba.so", "", MARKER_NAME, "a/../../b"] {
        let plan = farm(scratch.path(), vec![link(name, None, "/a")]);
        let result = write_farm(&plan, &plan.directory);
        assert!(matches!(result, Err(FarmError::LinkName(_) | FarmError::System { .. })), "{name}: {result:?}");
    }
    assert_eq!(names(scratch.path()), ["app"]);
}

#[test]
fn root_is_not_led_out_of_another_users_directory() {
    if !is_root() {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    for name in ["own", "others"] {
        fs::create_dir(at(name)).unwrap();
    }
    symlink("../own", at("others/above")).unwrap();
    for name in ["others", "others/above"] {
        lchown(at(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let plan = FarmPlan { directory: at("own/farm"), ..farm(scratch.path(), vec![link("liba.so", None, "/a")]) };
    let led = FarmPlan { directory: at("others/above/farm"), ..plan.clone() };
    let is_refused = |error| matches!(error, FarmError::Parent { .. });
    assert!(is_refused(check_farm_place(&led).unwrap_err()));
    assert!(is_refused(write_farm(&led, &led.directory).unwrap_err()));
    assert_eq!(names(&at("own")), [""; 0]);
    write_farm(&plan, &plan.directory).unwrap();
    assert!(is_refused(remove_farm(&led.directory, Some(&led.program)).unwrap_err()));
    assert_eq!(names(&at("own")), ["farm"]);
}

#[test]
fn errors_name_the_path_and_help() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = farm(scratch.path(), vec![link("liba.so", None, "/a")]);
    let nowhere = scratch.path().join("gone/farm");
    let error = write_farm(&plan, &nowhere).unwrap_err();
    assert!(error.to_string().contains("gone") && error.hint().unwrap().contains("mkdir"), "{error}");
    let error = write_farm(&plan, &Path::new(SELF).join("farm")).unwrap_err();
    assert!(error.to_string().contains(&format!("{SELF}/")), "{error}");
    assert_eq!(names(scratch.path()), ["app"]);
}

/// The test starts itself as the one that is killed: it writes two farms over one another for as long as it lives.
const WRITER: &str = "COLDSTART_TEST_FARM_WRITER";

#[test]
fn killed_at_any_instant_leaves_one_whole_farm() {
    if let Some(scratch) = std::env::var_os(WRITER) {
        let plans = two(&PathBuf::from(scratch));
        loop {
            for plan in &plans {
                write_farm(plan, &plan.directory).unwrap();
            }
        }
    }
    let scratch = tempfile::tempdir().unwrap();
    let plans = two(scratch.path());
    write_farm(&plans[0], &plans[0].directory).unwrap();
    let mut left = 0;
    for round in 0..40_u64 {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "farm::killed_at_any_instant_leaves_one_whole_farm", "--nocapture"])
            .env(WRITER, scratch.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(4000 + 700 * round));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let links = fs::read_dir(&plans[0].directory).unwrap().count() - 1;
        assert_eq!(links, 40, "round {round}");
        let whole = plans.iter().any(|plan| {
            plan.links.iter().all(|link| {
                fs::read_link(plan.directory.join(&link.name)).is_ok_and(|target| target == Path::new(&link.target))
            })
        });
        assert!(whole, "round {round}");
        left += names(scratch.path()).iter().filter(|name| name.contains(".coldstart-links.")).count();
    }
    eprintln!("{left} left behind");
    remove_farm(&plans[0].directory, Some(&plans[0].program)).unwrap();
    // Killed before it had marked its folder, or after it had removed the mark, a writer leaves an empty one, or one with a part
    // of the marker: nothing tells that it is ours.
    for name in names(scratch.path()).iter().filter(|name| *name != "app") {
        let inside = names(&scratch.path().join(name));
        assert!(inside.is_empty() || inside == [MARKER_NAME], "{name}: {inside:?}");
    }
}

/// A directory below the scratch with a marker, as a killed writer leaves it.
fn left_behind(scratch: &Path, name: &str, marker: &[u8]) -> PathBuf {
    let directory = scratch.join(name);
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join(MARKER_NAME), marker).unwrap();
    symlink("/a", directory.join("liba.so")).unwrap();
    directory
}

/// A number that no process has: the kernel's limit is `PID_MAX_LIMIT`, 4194304 (include/linux/threads.h).
const GONE: u32 = 4_194_999;

#[test]
fn only_what_a_killed_writer_has_marked_is_cleared_away() {
    let scratch = tempfile::tempdir().unwrap();
    let scratch = scratch.path().canonicalize().unwrap();
    let plan = farm(&scratch, vec![link("liba.so", None, "/a")]);
    let place = plan.directory.clone();
    write_farm(&plan, &place).unwrap();
    let marker = fs::read(place.join(MARKER_NAME)).unwrap();
    let text = String::from_utf8(marker.clone()).unwrap();
    let prefix = ".farm.coldstart-links.";
    let name = |number: u32| format!("{prefix}{number}");
    let process = GONE;
    let other_program = scratch.join("other");
    let of_other = text.replace(&*plan.program.to_string_lossy(), &other_program.to_string_lossy());
    let of_other_farm = text.replace("/farm\"", "/farm2\"");
    assert!(of_other != text && of_other_farm != text);
    // What users have: nothing in it, files, a marker of another program, of another place, no marker at all, a link, a file.
    let mut users = Vec::new();
    let mut user = |path: PathBuf| users.push(path);
    let empty = scratch.join(format!("{prefix}20261122"));
    fs::create_dir(&empty).unwrap();
    user(empty);
    let full = scratch.join(name(process));
    fs::create_dir_all(full.join("deep")).unwrap();
    fs::write(full.join("deep/precious"), "mine").unwrap();
    user(full.join("deep/precious"));
    for (number, marker) in [(1, &of_other), (2, &of_other_farm), (3, &"{}".to_owned()), (4, &String::new())] {
        user(left_behind(&scratch, &format!("{prefix}{process}.{number}"), marker.as_bytes()).join("liba.so"));
    }
    let mixed = left_behind(&scratch, &format!("{prefix}{process}.5"), &marker);
    fs::write(mixed.join("precious"), "mine").unwrap();
    user(mixed.join("precious"));
    user(mixed.join("liba.so"));
    let elsewhere = left_behind(&scratch, "elsewhere", &marker);
    symlink(&elsewhere, scratch.join(format!("{prefix}{process}.6"))).unwrap();
    user(scratch.join(format!("{prefix}{process}.6")));
    user(elsewhere.join("liba.so"));
    fs::write(scratch.join(format!("{prefix}{process}.7")), "mine").unwrap();
    user(scratch.join(format!("{prefix}{process}.7")));
    // A process of that number lives: the test's parent, which waits for it.
    let parent = std::os::unix::process::parent_id();
    user(left_behind(&scratch, &name(parent), &marker).join("liba.so"));
    // The names that this process would take itself.
    let own = scratch.join(name(std::process::id()));
    fs::create_dir(&own).unwrap();
    user(own);
    // And what a killed writer has left.
    let left = left_behind(&scratch, &format!("{prefix}{process}.8"), &marker);
    let other = FarmPlan { links: vec![link("libb.so", None, "/b")], ..plan.clone() };
    let steps: [&dyn Fn(); 4] = [
        &|| assert_eq!(write_farm(&other, &place).unwrap(), FarmWritten::Exchanged),
        &|| assert_eq!(write_farm(&plan, &place).unwrap(), FarmWritten::Exchanged),
        &|| assert_eq!(remove_farm(&place, Some(&plan.program)).unwrap(), FarmRemoved::Removed),
        &|| assert_eq!(write_farm(&plan, &place).unwrap(), FarmWritten::Made),
    ];
    let before = names(&scratch).len();
    for (number, step) in steps.iter().enumerate() {
        step();
        assert!(!left.exists(), "{number}");
        for path in &users {
            assert!(path.symlink_metadata().is_ok(), "{number}: {} is gone", path.display());
        }
    }
    assert_eq!(names(&scratch).len(), before - 1);
}

#[test]
fn a_marker_cannot_lead_out_of_its_folder() {
    let scratch = tempfile::tempdir().unwrap();
    let plan = farm(scratch.path(), vec![link("liba.so", None, "/a")]);
    write_farm(&plan, &plan.directory).unwrap();
    symlink("/a", scratch.path().join("precious")).unwrap();
    let marker = plan.directory.join(MARKER_NAME);
    let text = fs::read_to_string(&marker).unwrap().replace("\"liba.so\"", "\"../precious\"");
    fs::write(&marker, text).unwrap();
    fs::remove_file(plan.directory.join("liba.so")).unwrap();
    assert_eq!(write_farm(&plan, &plan.directory).unwrap(), FarmWritten::Exchanged);
    assert!(scratch.path().join("precious").symlink_metadata().is_ok());
}

fn two(scratch: &Path) -> [FarmPlan; 2] {
    ["/first", "/second"].map(|folder| {
        let links = (0..40).map(|number| link(&format!("lib{number}.so"), None, &format!("{folder}/lib{number}.so")));
        farm(scratch, links.collect())
    })
}
