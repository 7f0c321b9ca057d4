//! Every question of docs/queries.md, asked by DuckDB about a root file system of which the answers are known, or counted by `readelf`.

mod known_root;
mod readelf;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use coldstart_testing::{PythonPackages, succeed};
use serde_json::Value;

use known_root::KnownRoot;
use readelf::Elf;

const LIMIT: usize = 50;

type Row = Vec<Option<String>>;

/// What was answered, by question.
struct Answers(BTreeMap<String, Value>);

impl Answers {
    /// Asks in the directory that holds the surveys.
    fn ask(directory: &Path, packages: &Path, document: &Path) -> Self {
        let mut python = Command::new("python3");
        python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/queries/ask.py")).arg(document);
        python.env("PYTHONPATH", packages).current_dir(directory).stdin(Stdio::null());
        Self(serde_json::from_str(&succeed(&mut python)).unwrap())
    }

    fn columns(&self, question: &str) -> Vec<&str> {
        self.0[question]["columns"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
    }

    /// These columns of all rows.
    fn rows(&self, question: u32, columns: &[&str]) -> Vec<Row> {
        let question = question.to_string();
        let all = self.columns(&question);
        let at: Vec<usize> = columns.iter().map(|name| all.iter().position(|column| column == name).unwrap()).collect();
        let rows = self.0[&question]["rows"].as_array().unwrap();
        rows.iter().map(|row| at.iter().map(|at| row[*at].as_str().map(str::to_owned)).collect()).collect()
    }

    /// The same without absent values.
    fn text(&self, question: u32, columns: &[&str]) -> Vec<Vec<String>> {
        let rows = self.rows(question, columns);
        rows.into_iter()
            .map(|row| row.into_iter().map(|value| value.unwrap_or_else(|| "-".to_owned())).collect())
            .collect()
    }

    /// Numbers by names.
    fn map(&self, question: u32, name: &str, number: &str) -> BTreeMap<String, u64> {
        self.text(question, &[name, number]).into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect()
    }
}

/// A survey of the root now, and one of an older state.
struct Scene {
    directory: tempfile::TempDir,
    elves: Vec<Elf>,
    answers: Answers,
    report: Value,
}

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/queries.md")
}

impl Scene {
    fn new() -> Option<Self> {
        let packages = PythonPackages::Tables.directory()?;
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let survey = |words: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart-survey"));
            succeed(command.arg("survey").args(words).current_dir(directory.path()).stdin(Stdio::null()))
        };
        let known = KnownRoot::new(directory.path().join("root"));
        survey(&["root", "-o", "older"]);
        known.update();
        survey(&["root", "-o", "survey"]);
        let report = serde_json::from_str(&survey(&["report", "survey", "--json"])).unwrap();
        let answers = Answers::ask(directory.path(), &packages, &document());
        let elves = readelf::objects(&known.path(""));
        Some(Self { directory, elves, answers, report })
    }

    fn elf(&self, path: &str) -> &Elf {
        self.elves.iter().find(|elf| elf.path == path).unwrap()
    }
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().unwrap().to_str().unwrap().to_owned()
}

fn count<T: Ord>(names: impl Iterator<Item = T>) -> BTreeMap<T, u64> {
    let mut counts = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    counts
}

#[test]
fn every_question_is_answered() {
    let Some(scene) = Scene::new() else { return };
    the_columns_are_those_of_the_document(&scene);
    relocations(&scene);
    searches(&scene);
    before_main(&scene);
    what_is_shipped(&scene);
    deciding(&scene);
    two_surveys(&scene);
    assert!(scene.directory.path().join("survey/survey.json").exists());
}

fn the_columns_are_those_of_the_document(scene: &Scene) {
    let text = fs::read_to_string(document()).unwrap();
    let mut questions = BTreeSet::new();
    for part in text.split("\n### ").skip(1) {
        let (number, _) = part.split_once(". ").unwrap();
        let (_, columns) =
            part.split_once("\nColumns: ").unwrap_or_else(|| panic!("question {number} names no columns"));
        let (columns, _) = columns.split_once(". ").unwrap();
        let columns: Vec<&str> = columns.split(", ").map(|name| name.trim_matches('`')).collect();
        assert_eq!(scene.answers.columns(number), columns, "question {number}");
        questions.insert(number.to_owned());
    }
    assert_eq!(questions, scene.answers.0.keys().cloned().collect());
    assert!(questions.len() >= 20);
}

fn relocations(scene: &Scene) {
    let answers = &scene.answers;
    // libtable.so has 500 entries of 24 bytes; its 503 addresses need 9 words or so.
    let saved = answers.map(1, "package", "saved_bytes")["app"];
    assert!((11_000..=503 * 24).contains(&saved), "{saved}");
    let relocated: Vec<&Elf> = scene.elves.iter().filter(|elf| elf.relocation_bytes > 0).collect();
    let packed = relocated.iter().filter(|elf| elf.has_relr).count();
    assert_eq!(answers.map(2, "machine", "objects").values().sum::<u64>(), relocated.len() as u64);
    assert_eq!(answers.map(2, "machine", "packed_objects").values().sum::<u64>(), packed as u64);
    assert!(
        answers.text(3, &["package", "packed", "unpacked"]).contains(&["app", "1", "2"].map(str::to_owned).to_vec())
    );
    let mut largest: Vec<(u64, &str)> = relocated.iter().map(|elf| (elf.relocation_bytes, &*elf.path)).collect();
    largest.sort_by(|one, other| (other.0, one.1).cmp(&(one.0, other.1)));
    largest.truncate(LIMIT);
    let found = answers.text(4, &["relocation_bytes", "path", "bytes", "percent"]);
    for ((bytes, path), row) in largest.iter().zip(&found) {
        let size = scene.elf(path).bytes;
        assert_eq!(row[..3], [bytes.to_string(), (*path).to_owned(), size.to_string()]);
        assert!((row[3].parse::<f64>().unwrap() - 100.0 * *bytes as f64 / size as f64).abs() < 0.051, "{row:?}");
    }
    assert_eq!(found.len(), largest.len());
    let pages = answers.map(5, "path", "private_pages");
    for path in ["usr/lib/app/libtable.so", "usr/lib/copy/libone.so"] {
        assert_eq!(pages[path], scene.elf(path).relocated_pages.len() as u64, "{path}");
    }
    let owners: u64 = answers.map(6, "owner", "relocations").values().sum();
    let copies: u64 = scene.elves.iter().map(|elf| elf.copy_relocations).sum();
    assert_eq!(scene.report["totals"]["relocations"], owners + copies);
    let percent: f64 = answers.text(6, &["percent"]).iter().map(|row| row[0].parse::<f64>().unwrap()).sum();
    assert!((percent - 100.0).abs() < 0.5, "{percent}");
    assert!(answers.map(7, "path", "lookups")["usr/lib/odd/libown.so"] >= 100);
    assert_eq!(answers.map(8, "package", "saves_lookups")["odd"], 100);
    let text: Vec<Vec<String>> =
        scene.elves.iter().filter(|elf| elf.has_text_relocations).map(|elf| vec![elf.path.clone()]).collect();
    assert_eq!(answers.text(9, &["path"]), text);
    assert_eq!(text, [["usr/lib/odd/libtext.so"]]);
}

fn searches(scene: &Scene) {
    let answers = &scene.answers;
    let [first, ..] = &answers.text(10, &["path", "failed_probes", "search_path"])[..] else { panic!("no program") };
    assert_eq!((&*first[0], Some(&first[2])), ("usr/bin/app", scene.elf("usr/bin/app").run_path.as_ref()));
    // Ten directories for each of two libraries at least, and the one of the others for the library that is gone.
    assert!(first[1].parse::<u64>().unwrap() >= 21, "{first:?}");
    let paths = count(scene.elves.iter().filter_map(|elf| elf.run_path.clone()));
    assert_eq!(answers.map(11, "search_path", "objects"), paths);
    assert_eq!(answers.text(12, &["package", "path"]), [["app", "usr/bin/app"]]);
    let programs: Vec<&Elf> = scene.elves.iter().filter(|elf| elf.is_program).collect();
    let needed = count(programs.iter().flat_map(|elf| elf.needed.iter().cloned()));
    let by_programs = answers.map(13, "library", "programs");
    assert!(needed.len() <= LIMIT, "the test takes for granted that none is cut off");
    assert_eq!(by_programs, needed);
    // All that is needed, over and over.
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for elf in scene.elves.iter().filter(|elf| !elf.is_program) {
        let name = elf.soname.clone().unwrap_or_else(|| file_name(&elf.path));
        needs.entry(name).or_default().extend(elf.needed.iter().cloned());
    }
    let mut all = BTreeMap::new();
    for program in programs.iter().filter(|program| !program.needed.is_empty()) {
        let (mut reached, mut open) = (BTreeSet::new(), program.needed.clone());
        while let Some(name) = open.pop() {
            if reached.insert(name.clone()) {
                open.extend(needs.get(&name).into_iter().flatten().cloned());
            }
        }
        all.insert(program.path.clone(), reached.len() as u64);
    }
    assert_eq!(answers.map(14, "path", "libraries"), all);
    let unused = answers.text(15, &["what", "programs", "example"]);
    let of_app: Vec<_> = unused.iter().filter(|row| row[2] == "usr/bin/app").collect();
    assert_eq!(of_app, [&["libidle.so is needed by app, and nothing uses its symbols", "1", "usr/bin/app"]]);
    assert_eq!(answers.text(16, &["library", "objects", "example"]), [["libgone.so.1", "1", "usr/bin/app"]]);
    let wanted: BTreeSet<&String> = scene.elves.iter().flat_map(|elf| &elf.needed).collect();
    let unwanted = scene
        .elves
        .iter()
        .filter(|elf| !elf.is_program && elf.soname.as_ref().is_some_and(|name| !wanted.contains(name)));
    let unwanted: BTreeSet<String> = unwanted.map(|elf| elf.path.clone()).collect();
    assert_eq!(answers.text(17, &["path"]).into_iter().flatten().collect::<BTreeSet<_>>(), unwanted);
    let hashes = answers.text(18, &["package", "kind", "path"]);
    let odd: Vec<&Vec<String>> = hashes.iter().filter(|row| row[0] == "odd").collect();
    let (one, two) =
        (["odd", "sysv-hash-only", "usr/lib/odd/libsysv.so"], ["odd", "two-hash-tables", "usr/lib/odd/libboth.so"]);
    assert_eq!(odd, [&one, &two]);
}

fn before_main(scene: &Scene) {
    let answers = &scene.answers;
    let initialisers = answers.text(19, &["package", "path", "initialisers", "needed_by"]);
    let of = |path: &str| initialisers.iter().find(|row| row[1] == path).unwrap().clone();
    assert_eq!(of("usr/lib/app/libtable.so"), ["app", "usr/lib/app/libtable.so", "3", "1"]);
    assert_eq!(of("usr/lib/odd/libfar.so"), ["odd", "usr/lib/odd/libfar.so", "2", "0"]);
    let scattered = answers.text(20, &["path", "functions", "code_pages", "readahead_windows"]);
    assert!(scattered.contains(&["usr/lib/odd/libfar.so", "2", "2", "2"].map(str::to_owned).to_vec()), "{scattered:?}");
    let requests: Vec<u64> = answers.text(21, &["read_requests"]).iter().map(|row| row[0].parse().unwrap()).collect();
    assert_eq!(requests.len(), scene.elves.len().min(LIMIT));
    assert!(requests.is_sorted_by(|one, other| one >= other) && requests[0] > 0, "{requests:?}");
    assert_eq!(answers.text(22, &["package", "language", "modules"]), [["snakes", "python", "3"]]);
}

fn what_is_shipped(scene: &Scene) {
    let answers = &scene.answers;
    let (elves, by_machine) = (&scene.elves, |of: &dyn Fn(&Elf) -> u64| {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        scene.elves.iter().for_each(|elf| *sums.entry(&elf.machine).or_default() += of(elf));
        let mut sums: Vec<u64> = sums.into_values().collect();
        sums.sort_unstable_by(|one, other| other.cmp(one));
        sums
    });
    let numbers =
        |column: &str| -> Vec<u64> { answers.text(23, &[column]).iter().map(|row| row[0].parse().unwrap()).collect() };
    assert_eq!(numbers("objects"), by_machine(&|_| 1));
    assert_eq!(numbers("programs"), by_machine(&|elf| elf.is_program.into()));
    assert_eq!(numbers("bytes"), by_machine(&|elf| elf.bytes));
    assert_eq!(numbers("relocation_bytes"), by_machine(&|elf| elf.relocation_bytes));
    assert_eq!(answers.text(24, &["package", "machines"]), [["odd", "2"]]);
    let one = scene.elf("usr/lib/copy/libone.so");
    let copies = answers.text(25, &["build_id", "one", "other", "objects", "repeated_bytes"]);
    assert_eq!(copies, [[one.build_id.as_deref().unwrap(), "copy", "other", "2", &one.bytes.to_string()]]);
    let (tables, ids) = (
        elves.iter().filter(|elf| elf.has_symbol_table).count(),
        elves.iter().filter(|elf| elf.build_id.is_none()).count(),
    );
    assert_eq!(answers.map(26, "package", "with_symbol_table").values().sum::<u64>(), tables as u64);
    assert_eq!(answers.map(26, "package", "without_build_id").values().sum::<u64>(), ids as u64);
    assert_eq!(answers.text(27, &["soname", "builds", "packages"]), [["libtable.so", "2", "2"]]);
}

fn deciding(scene: &Scene) {
    let (answers, report) = (&scene.answers, &scene.report);
    // The report sums up by itself.
    let fixes: BTreeMap<String, u64> = report["fixes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fix| (fix["fix"].as_str().unwrap().to_owned(), fix["saves"]["weight"].as_u64().unwrap()))
        .collect();
    assert_eq!(answers.map(28, "fix", "weight"), fixes);
    let packages: BTreeMap<String, u64> = report["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| {
            (package["package"].as_str().unwrap_or("(none)").to_owned(), package["saves"]["weight"].as_u64().unwrap())
        })
        .filter(|(_, weight)| *weight > 0)
        .collect();
    assert_eq!(answers.map(29, "package", "weight"), packages);
    assert_eq!(answers.text(29, &["percent"]).last().unwrap()[0], "100.0");
    assert_eq!(answers.text(30, &["files", "example"]), [["1", "usr/lib/odd/libcut.so"]]);
}

fn two_surveys(scene: &Scene) {
    let answers = &scene.answers;
    let changed = answers.text(31, &["package", "old_version", "new_version", "objects", "initialisers"]);
    assert_eq!(changed, [["app", "1", "2", "0", "3"]]);
    assert_eq!(answers.text(32, &["package", "library", "change"]), [["app", "libgone.so.1", "gained"]]);
}
