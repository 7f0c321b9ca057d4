//! Surveys in trouble: a full disk, a file of many gigabytes, directories of other versions, two that do not agree.

use std::fs;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

use coldstart_testing::{Mount, PATIENCE, compile, is_root, skip, within};

use crate::{Scene, tables};

/// Bytes of the small file system.
const ROOM: u64 = 1 << 20;

#[test]
fn a_full_disk_leaves_whole_shards_and_no_others() {
    if !is_root() {
        return skip("needs root, to mount a small file system");
    }
    let scene = Scene::new(9000);
    scene.json(&["tree", "-o", "whole"]);
    let whole = tables(&scene.path("whole"));
    let size = format!("size={ROOM}");
    let mount = match Mount::new(&scene.path("small"), &["-t", "tmpfs", "-o", &size, "tmpfs"]) {
        Ok(mount) => mount,
        Err(reason) => return skip(&reason),
    };
    let filler = mount.place().join("filler");
    let (mut failed, mut kept) = (0, 0);
    // In pages: each step counts where nothing is written yet, then some for each table.
    for free in (0..3).chain((3..80).step_by(4)).map(|pages| pages * 4096) {
        fs::write(&filler, vec![1; (ROOM - free) as usize]).unwrap();
        let output = scene.run(&["tree", "-o", "small/out"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let survey = scene.path("small/out");
        let is_done = output.status.success();
        if !is_done {
            failed += 1;
            assert_eq!(output.status.code(), Some(2), "{free} bytes free: {output:?}");
            assert!(message.contains("cannot write `small/out") && message.contains("hint: repeat"), "{message}");
        }
        // What has a shard's name is whole.
        let there = tables(&survey);
        let there: Vec<_> = there.iter().filter(|(path, _)| !path.starts_with(".working")).collect();
        assert_eq!(there.len() % 8, 0, "{free} bytes free");
        assert!(there.iter().all(|table| whole.contains(table)), "{free} bytes free: other bytes");
        kept += usize::from(!is_done && !there.is_empty());
        fs::remove_file(&filler).unwrap();
        let again = scene.json(&["tree", "-o", "small/out"]);
        assert_eq!(again["kept"], there.len() / 8, "{free} bytes free");
        assert!(tables(&survey) == whole, "{free} bytes free: other bytes");
        fs::remove_dir_all(survey).unwrap();
        if is_done {
            break;
        }
    }
    assert!(failed >= 6 && kept >= 2, "{failed} of the tries failed, {kept} with a shard done");
}

/// A library's copy that has its section table and its symbols behind a hole.
fn with_sections_beyond(scene: &Scene, name: &str, hole: u64) {
    let library = scene.path("far.so");
    let source = "int x, *p = &x; static int local(void) { return x; } int f(void) { return local(); }";
    compile("cc", &library, source, &["-shared", "-fPIC"]);
    let bytes = fs::read(&library).unwrap();
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (table, count) = (number(0x28) as usize, usize::from(bytes[0x3c]));
    let mut sections = bytes[table..table + count * 64].to_vec();
    let path = scene.path(name);
    fs::copy(&library, &path).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    let mut end = hole;
    // `.symtab`, `.strtab` and the names of sections are not loaded.
    for section in sections.chunks_mut(64).filter(|section| matches!(section[4], 2 | 3) && section[8] & 2 == 0) {
        let part = |at: usize| u64::from_le_bytes(section[at..at + 8].try_into().unwrap()) as usize;
        let (offset, size) = (part(0x18), part(0x20));
        file.write_all_at(&bytes[offset..offset + size], end).unwrap();
        section[0x18..0x20].copy_from_slice(&end.to_le_bytes());
        end = (end + size as u64).next_multiple_of(8);
    }
    file.write_all_at(&sections, end).unwrap();
    file.write_all_at(&end.to_le_bytes(), 0x28).unwrap();
}

#[test]
fn files_of_five_gigabytes_need_no_memory() {
    let scene = Scene::new(0);
    let bytes = 5 << 30;
    with_sections_beyond(&scene, "tree/sections", bytes);
    let far = fs::metadata(scene.path("tree/sections")).unwrap().len();
    // A program with a hole behind it.
    fs::copy("/bin/ls", scene.path("tree/large")).unwrap();
    fs::File::options().write(true).open(scene.path("tree/large")).unwrap().set_len(bytes).unwrap();
    let mut limited = Command::new("sh");
    // Memory that is private and writable, in KiB.
    limited
        .args(["-c", r#"ulimit -d 524288 && exec "$0" survey tree -o out"#])
        .arg(env!("CARGO_BIN_EXE_coldstart-survey"));
    let mut child = limited.current_dir(scene.path("")).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let is_over = within(PATIENCE, || child.try_wait().unwrap().is_some());
    let _ = child.kill();
    assert!(child.wait().unwrap().success() && is_over);
    // The same as of the files without holes.
    scene.json(&["/bin/ls", "far.so", "-o", "of-small"]);
    let totals = |survey: &str| scene.json_of(&["survey", "report", survey])["totals"].clone();
    let (mut large, small) = (totals("out"), totals("of-small"));
    assert_eq!(large["file_bytes"], bytes + far);
    large["file_bytes"] = small["file_bytes"].clone();
    assert_eq!((&large["objects"], &large), (&2.into(), &small));
    let inspected = scene.json_of(&["inspect", "tree/sections"]).to_string();
    assert!(inspected.contains(r#""names_from":"symbol-table""#), "{inspected}");
}

#[test]
fn directories_of_other_versions_are_refused_with_a_hint() {
    let scene = Scene::new(10);
    scene.json(&["tree", "-o", "out"]);
    let manifest = scene.path("out/survey.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let version = format!("\"coldstart\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version) && text.contains("\"schema\": 1"), "{text}");
    let newer = r#"{ "format": "coldstart survey", "schema": 9, "parts": [] }"#;
    let refused = |words: &[&str], reason: &str| {
        let output = scene.run(words);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(reason) && message.contains("hint: "), "{message}");
    };
    let before = tables(&scene.path("out"));
    for (changed, reason) in
        [(text.replace("\"schema\": 1", "\"schema\": 0"), "schema 0"), (newer.to_owned(), "schema 9")]
    {
        fs::write(&manifest, changed).unwrap();
        refused(&["tree", "-o", "out"], reason);
        refused(&["report", "out"], reason);
    }
    fs::write(&manifest, text.replace(&version, "\"coldstart\": \"0.0.9\"")).unwrap();
    refused(&["tree", "-o", "out"], "0.0.9");
    // The tables are the same, so they can be summed up.
    assert!(scene.run(&["report", "out"]).status.success());
    fs::write(&manifest, "[]").unwrap();
    refused(&["tree", "-o", "out"], "damaged");
    assert!(tables(&scene.path("out")) == before, "a refused survey changes nothing");
}

#[test]
fn of_two_surveys_that_do_not_agree_one_is_refused() {
    let scene = Scene::new(10);
    fs::create_dir(scene.path("other")).unwrap();
    fs::copy(scene.path("lib.so"), scene.path("other/lib.so")).unwrap();
    for _ in 0..20 {
        let start = |what: &str| {
            let mut command = scene.command(&[what, "-o", "both"]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let children = ["tree", "other"].map(start);
        let outputs = children.map(|mut child| {
            assert!(within(PATIENCE, || child.try_wait().unwrap().is_some()), "it does not end");
            child.wait_with_output().unwrap()
        });
        let codes = outputs.each_ref().map(|output| output.status.code().unwrap());
        let loser = match codes {
            [0, 2] => 1,
            [2, 0] => 0,
            _ => panic!("{outputs:?}"),
        };
        let message = String::from_utf8_lossy(&outputs[loser].stderr).into_owned();
        let winner = ["other", "tree"][loser];
        assert!(message.contains(&format!("a survey of {winner}")) && message.contains("hint: "), "{message}");
        let objects = &scene.json(&["report", "both"])["totals"]["objects"];
        assert_eq!(*objects, 1, "one of them alone is in the tables");
        fs::remove_dir_all(scene.path("both")).unwrap();
    }
}
