//! What `coldstart speedup` advises besides fixes: its commands are run, and do what they say.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use coldstart_testing::{is_root, scratch, skip, succeed};
use serde_json::Value;
use tempfile::TempDir;

use crate::text;

struct Scene {
    directory: TempDir,
}

impl Scene {
    /// None where starts cannot be judged, with a reason printed.
    fn new() -> Option<Self> {
        is_root().then(|| Self { directory: scratch() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    fn json(&self, words: &[&str]) -> Value {
        let output = self.command(env!("CARGO_BIN_EXE_coldstart")).args(words).output().unwrap();
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{words:?}: {}{}", text(&output.stdout), text(&output.stderr)))
    }

    /// The advice of one kind about a file whose name ends so. The program comes after `--`, behind options.
    fn advice(&self, program: &[&str], kind: &str, file: &str) -> Option<Value> {
        let words = ["speedup", "--runs", "2", "--fixes", "prefetch", "--json", "-o", "plan.prefetch"];
        let story = self.json(&[&words[..], program].concat());
        let all = story["advice"].as_array().unwrap_or_else(|| panic!("{story}"));
        let is_it =
            |advice: &&Value| advice["kind"] == kind && advice["file"]["path"].as_str().unwrap().ends_with(file);
        all.iter().find(is_it).cloned()
    }

    /// Runs the commands of an advice, with the program under test for `coldstart`.
    fn follow(&self, advice: &Value) -> Vec<String> {
        let commands = advice["commands"].as_array().unwrap().iter();
        let own = env!("CARGO_BIN_EXE_coldstart");
        let run = |command: &str| {
            let command = match command.strip_prefix("coldstart ") {
                Some(rest) => format!("'{own}' {rest}"),
                None => command.to_owned(),
            };
            succeed(self.command("sh").args(["-ec", &command]))
        };
        commands.map(|command| run(command.as_str().unwrap())).collect()
    }
}

#[test]
fn an_archive_whose_used_entries_lie_apart_is_put_into_order_by_the_advised_commands() {
    let Some(scene) = Scene::new() else { return };
    let make = r"
import zipfile, random, sys
random.seed(3)
with zipfile.ZipFile('data.zip', 'w') as z:
    for n in range(2000):
        z.writestr('e%04d' % n, random.randbytes(3000))
        # A hole: longer than the kernel reads ahead.
        z.start_dir += 140000
";
    succeed(scene.command("python3").args(["-c", make]));
    let read = "import zipfile, sys\nz = zipfile.ZipFile('data.zip')\nfor n in range(int(sys.argv[1]), 2000, int(sys.argv[2])): z.read('e%04d' % n)";
    fs::write(scene.path("read.py"), read).unwrap();
    let sparse = ["python3", "read.py", "3", "1"];
    let advice =
        scene.advice(&[&["--"], &sparse[..]].concat(), "order-zip", "data.zip").expect("advice about the archive");
    assert!(advice["pieces"].as_u64() > Some(1900), "{advice}");
    assert!(advice["saved_seconds"].as_f64() > Some(0.0), "{advice}");
    assert!(advice["why"].as_str().unwrap().contains("of 2 000 in"), "{advice}");
    scene.follow(&advice);
    let read = "import zipfile; a, b = [zipfile.ZipFile(n) for n in ('data.zip', 'data.zip.ordered')]; assert [a.read(n) for n in a.namelist()] == [b.read(n) for n in b.namelist()]";
    succeed(scene.command("python3").args(["-c", read]));
    // In order, there is nothing to be said of it.
    fs::rename(scene.path("data.zip.ordered"), scene.path("data.zip")).unwrap();
    assert_eq!(scene.advice(&[&["--"], &sparse[..]].concat(), "order-zip", "data.zip"), None);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn large_code_of_which_little_is_touched_is_listed_for_the_linker_by_the_advised_commands() {
    let Some(scene) = Scene::new() else { return };
    let mut code = String::from(".cfi_sections .eh_frame\n");
    for number in 0..120 {
        writeln!(code, ".section .text.f{number},\"ax\"\n.globl f{number}\n.type f{number},@function\nf{number}: .cfi_startproc\nret\n.skip 150000,0x90\n.cfi_endproc\n.size f{number},.-f{number}").unwrap();
    }
    code.push_str(".section .text.main,\"ax\"\n.globl main\n.type main,@function\nmain: .cfi_startproc\nsub $8,%rsp\n");
    for number in (0..120).rev() {
        writeln!(code, "call f{number}").unwrap();
    }
    // It never ends: the commands must say when it is ready.
    code.push_str(
        "lea said(%rip),%rdi\ncall puts@plt\nmov stdout@GOTPCREL(%rip),%rdi\nmov (%rdi),%rdi\ncall fflush@plt\n",
    );
    code.push_str(
        "1: call pause@plt\njmp 1b\n.cfi_endproc\n.size main,.-main\n.section .rodata\nsaid: .string \"ready\"\n",
    );
    code.push_str(".section .note.GNU-stack,\"\"\n");
    fs::write(scene.path("sparse.s"), code).unwrap();
    succeed(scene.command("gcc").args(["sparse.s", "-Wl,--build-id=sha1", "-o", "sparse"]));
    let advice = scene
        .advice(&["--ready", "stdout:^ready$", "--", "./sparse"], "order-functions", "/sparse")
        .expect("advice about the code");
    assert!(advice["pieces"].as_u64() > Some(100) && advice["saved_seconds"].as_f64() > Some(0.0), "{advice}");
    scene.follow(&advice);
    let list = fs::read_to_string(scene.path("sparse.order")).unwrap();
    let first: Vec<&str> = list.lines().filter(|line| line.starts_with('f')).take(3).collect();
    assert_eq!(first, ["f119", "f118", "f117"]);
}

/// A program of which a start uses few classes.
fn java(scene: &Scene) {
    let mut main = String::from("public class Main { public static void main(String[] a) { System.out.println(0");
    for number in (0..300).rev().step_by(10) {
        write!(main, " + C{number}.x()").unwrap();
    }
    main.push_str("); } }\n");
    for number in 0..300 {
        let filler: String =
            (0..300).map(|n| format!("static int f{n}() {{ return {}; }} ", n * 7919 + number)).collect();
        writeln!(main, "class C{number} {{ static int x() {{ return {number}; }} {filler} }}").unwrap();
    }
    fs::write(scene.path("Main.java"), main).unwrap();
    fs::create_dir(scene.path("classes")).unwrap();
    succeed(scene.command("javac").args(["-d", "classes", "Main.java"]));
    succeed(scene.command("jar").args(["--create", "--file", "app.jar", "--main-class", "Main", "-C", "classes", "."]));
}

/// Pages of the jar that a start used, in how many pieces; and how many classes came from the jar.
fn jar_use(scene: &Scene, jar: &str, options: &[&str]) -> (u64, usize, usize) {
    let command = [&["java"], options, &["-Xlog:class+load:file=classes.log", "-jar", jar]].concat();
    let trace = ["trace", "--cold", "--layers", "pages,files", "--hide-output", "--force", "-o", "j.coldtrace", "--"];
    succeed(scene.command(env!("CARGO_BIN_EXE_coldstart")).args([&trace[..], &command].concat()));
    let files = scene.json(&["order", "files", "j.coldtrace", "--json"]);
    let is_jar = |file: &&Value| file["path"].as_str().unwrap().ends_with(&format!("/{jar}"));
    let ranges =
        files["files"].as_array().unwrap().iter().find(is_jar).map(|file| file["ranges"].as_array().unwrap().clone());
    let mut ranges: Vec<(u64, u64)> = ranges
        .unwrap_or_default()
        .iter()
        .map(|range| (range[0].as_u64().unwrap(), range[1].as_u64().unwrap()))
        .collect();
    ranges.sort_unstable();
    let pages = ranges.iter().map(|range| range.1).sum::<u64>() / 4096;
    let pieces = ranges.len() - ranges.windows(2).filter(|pair| pair[0].0 + pair[0].1 == pair[1].0).count();
    let log = fs::read_to_string(scene.path("classes.log")).unwrap();
    let from_jar = log.lines().filter(|line| line.contains(" source: ") && line.contains(jar)).count();
    (pages, pieces, from_jar)
}

#[test]
fn of_java_the_advised_archive_of_classes_saves_more_of_the_jar_than_its_order() {
    let Some(scene) = Scene::new() else { return };
    if !scene.command("sh").args(["-c", "command -v javac && command -v jar"]).output().unwrap().status.success() {
        return skip("no Java compiler");
    }
    java(&scene);
    let program = ["java", "-jar", "app.jar"];
    let advice =
        scene.advice(&[&["--"], &program[..]].concat(), "class-data-sharing", "libjvm.so").expect("advice about Java");
    let (pages, pieces, classes) = jar_use(&scene, "app.jar", &[]);
    assert!(classes >= 31, "{classes} classes");
    succeed(scene.command(env!("CARGO_BIN_EXE_coldstart")).args([
        "order",
        "zip",
        "app.jar",
        "-o",
        "new.jar",
        "--trace",
        "j.coldtrace",
    ]));
    let (ordered_pages, ordered_pieces, _) = jar_use(&scene, "new.jar", &[]);
    assert!(ordered_pieces < pieces, "{pieces} pieces, in order {ordered_pieces}");
    let answers = scene.follow(&advice);
    assert!(answers.iter().all(|answer| answer.contains("4620")), "{answers:?}");
    let (shared_pages, shared_pieces, shared_classes) = jar_use(&scene, "app.jar", &["-XX:SharedArchiveFile=app.jsa"]);
    let figures = format!(
        "{pages} pages in {pieces} pieces; in order {ordered_pages} in {ordered_pieces}; with the archive {shared_pages} in {shared_pieces}"
    );
    println!("{figures}");
    assert_eq!(shared_classes, 0, "{figures}");
    assert!(shared_pages < ordered_pages && shared_pages < pages, "{figures}");
    // With it, nothing is advised any more.
    let program = ["java", "-XX:SharedArchiveFile=app.jsa", "-jar", "app.jar"];
    assert_eq!(scene.advice(&[&["--"], &program[..]].concat(), "class-data-sharing", "libjvm.so"), None);
}
