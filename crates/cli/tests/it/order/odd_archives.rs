//! Archives of many makers: encrypted, self-extracting, with holes, with names and records that few use; and as another user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use coldstart_testing::{NOBODY, as_unprivileged, copy_program, output_of, skip};

use super::archives::{Scene, records_reads};
use crate::text;

/// Files to archive, of which every third will be read; one has a line break in its name.
const FILES: &str = r"
import os, random
random.seed(5)
os.makedirs('in/sub')
for n in range(60):
    name = 'in/sub/line\nbreak' if n == 30 else 'in/f%02d' % n
    with open(name, 'wb') as out: out.write(random.randbytes(9000) + bytes([n]) * 9000)
";

/// Reads every third entry of an archive, the last one first.
const READ: &str = r"
import sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
for info in reversed(z.infolist()[::3]):
    if not info.is_dir(): z.read(info, pwd=b'secret' if info.flag_bits & 1 else None)
";

/// Prints each entry of an archive with a digest of its content.
const SHOW: &str = r"
import sys, zipfile, hashlib
z = zipfile.ZipFile(sys.argv[1])
for i in z.infolist():
    data = z.open(i, pwd=b'secret' if i.flag_bits & 1 else None).read()
    print(ascii(i.filename), i.date_time, i.compress_type, i.flag_bits, i.CRC, i.file_size, i.extra.hex(), hashlib.sha256(data).hexdigest())
";

/// Puts the archive into the order of a start that read every third entry.
fn ordered(scene: &Scene, archive: &str) -> serde_json::Value {
    scene.trace("t.coldtrace", &["python3", "-c", READ, archive]);
    let outcome = scene.json(&["order", "zip", archive, "-o", "new", "--force", "--trace", "t.coldtrace", "--json"]);
    assert_eq!(outcome["pieces_after"].as_u64(), Some(1), "{archive}: {outcome}");
    assert!(outcome["pieces_before"].as_u64() > Some(3), "{archive}: {outcome}");
    let show = |name: &str| scene.done("python3", &["-c", SHOW, name]);
    assert_eq!(show("new"), show(archive), "{archive}");
    outcome
}

#[test]
fn archives_of_zip_itself_hold_the_same_also_where_they_are_encrypted_or_extract_themselves() {
    if !records_reads() {
        return;
    }
    let scene = Scene::new();
    scene.done("python3", &["-c", FILES]);
    // Encrypted entries are copied as they are, whoever knows the password.
    scene.done("zip", &["-q", "-r", "mixed.zip", "in"]);
    scene.done("zip", &["-q", "-P", "secret", "mixed.zip", "in/f03", "in/f27", "in/f44", "in/sub/line\nbreak"]);
    ordered(&scene, "mixed.zip");
    scene.done("unzip", &["-q", "-P", "secret", "-t", "new"]);
    let wrong = scene.run("unzip", &["-q", "-P", "other", "-t", "new"]);
    assert!(!wrong.status.success(), "{}", text(&wrong.stdout));
    // Records of 64 bits and checksums behind the data, although neither is needed.
    for option in ["-fz", "-fd"] {
        let name = format!("forced{option}.zip");
        scene.done("zip", &["-q", "-r", option, &name, "in"]);
        ordered(&scene, &name);
        scene.done("unzip", &["-q", "-t", "new"]);
    }
    // A program in front.
    let mut program = fs::read("/usr/bin/unzipsfx").unwrap();
    scene.done("zip", &["-q", "-r", "plain.zip", "in"]);
    program.extend(fs::read(scene.path("plain.zip")).unwrap());
    fs::write(scene.path("extract"), program).unwrap();
    fs::set_permissions(scene.path("extract"), PermissionsExt::from_mode(0o755)).unwrap();
    scene.done("zip", &["-q", "-A", "extract"]);
    fs::remove_file(scene.path("new")).unwrap();
    ordered(&scene, "extract");
    for program in ["extract", "new"] {
        let into = format!("by-{program}");
        fs::create_dir(scene.path(&into)).unwrap();
        scene.done("sh", &["-c", &format!("cp {program} {into}/program && cd {into} && ./program -q && rm program")]);
    }
    scene.done("diff", &["-r", "by-extract", "by-new"]);
    scene.done("diff", &["in/f59", "by-new/in/f59"]);
}

#[test]
fn an_archive_with_holes_and_two_entries_of_one_name_becomes_dense() {
    if !records_reads() {
        return;
    }
    let scene = Scene::new();
    let make = r"
import zipfile, random, warnings
warnings.simplefilter('ignore')
random.seed(6)
with zipfile.ZipFile('holes.zip', 'w') as z:
    for n in range(40):
        z.writestr('twice' if n in (9, 30) else 'f%02d' % n, random.randbytes(20000))
        z.start_dir += 300000
";
    scene.done("python3", &["-c", make]);
    let outcome = ordered(&scene, "holes.zip");
    let size = fs::metadata(scene.path("new")).unwrap().len();
    assert!(size < 40 * 21_000 && Some(size) == outcome["bytes"].as_u64(), "{size}: {outcome}");
    let notes = outcome["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().contains("zeros between entries")), "{outcome}");
    // Readers take the last of both; which one that is has not changed.
    let last = |name: &str| {
        let script = "import sys, zipfile, hashlib; print(hashlib.sha256(zipfile.ZipFile(sys.argv[1]).read('twice')).hexdigest())";
        scene.done("python3", &["-c", script, name])
    };
    assert_eq!(last("new"), last("holes.zip"));
}

#[test]
fn a_disk_that_is_full_in_the_middle_has_no_archive() {
    if !records_reads() {
        return;
    }
    let scene = Scene::new();
    scene.done("python3", &["-c", FILES]);
    scene.done("zip", &["-q", "-r", "app.zip", "in"]);
    scene.trace("t.coldtrace", &["python3", "-c", READ, "app.zip"]);
    let disk = match coldstart_testing::Mount::new(&scene.path("disk"), &["-t", "tmpfs", "-o", "size=200k", "none"]) {
        Ok(disk) => disk,
        Err(reason) => return skip(&format!("this machine does not mount tmpfs: {reason}")),
    };
    let words = ["order", "zip", "app.zip", "--trace", "t.coldtrace", "--json", "-o"];
    let refused = |output: &str| {
        let answer = scene.coldstart(&[&words[..], &[output]].concat());
        assert_eq!(answer.status.code(), Some(2), "{}", text(&answer.stdout));
        assert!(text(&answer.stdout).contains("No space left on device"), "{}", text(&answer.stdout));
    };
    refused("disk/new");
    assert_eq!(fs::read_dir(disk.place()).unwrap().count(), 0);
    // What was there stays.
    let old = scene.path("disk/old");
    fs::write(&old, "mine").unwrap();
    let forced = scene.coldstart(&[&words[..], &["disk/old", "--force"]].concat());
    assert_eq!((forced.status.code(), fs::read(&old).unwrap()), (Some(2), b"mine".to_vec()));
    assert_eq!(fs::read_dir(disk.place()).unwrap().count(), 1);
}

#[test]
fn without_root_an_archive_is_put_into_order_from_a_trace_of_roots() {
    if !records_reads() {
        return;
    }
    // Not below the build directory, which may be closed to others.
    let room = tempfile::tempdir().unwrap();
    fs::set_permissions(room.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let copy = room.path().join("coldstart");
    copy_program(env!("CARGO_BIN_EXE_coldstart"), &copy);
    let here = |program: &str| {
        let mut command = Command::new(program);
        command.current_dir(room.path());
        command
    };
    coldstart_testing::succeed(here("python3").args(["-c", FILES]));
    coldstart_testing::succeed(here("zip").args(["-q", "-r", "app.zip", "in"]));
    let words = ["trace", "--layers", "pages,files", "-o", "t", "--", "python3", "-c", READ, "app.zip"];
    coldstart_testing::succeed(here(copy.to_str().unwrap()).args(words));
    fs::set_permissions(room.path().join("t"), PermissionsExt::from_mode(0o644)).unwrap();
    let order = |output: &str| {
        let mut command = as_unprivileged(&copy);
        output_of(command.current_dir(room.path()).args(["order", "zip", "app.zip", "--trace", "t", "-o", output]))
    };
    let made = order("new.zip");
    assert!(made.status.success(), "{}", text(&made.stderr));
    let status = fs::metadata(room.path().join("new.zip")).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&status), NOBODY);
    coldstart_testing::succeed(here("unzip").args(["-q", "-t", "new.zip"]));
    // Where it may not write, it says so and writes nothing.
    fs::create_dir(room.path().join("closed")).unwrap();
    let refused = order("closed/new.zip");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("Permission denied"), "{}", text(&refused.stderr));
}
