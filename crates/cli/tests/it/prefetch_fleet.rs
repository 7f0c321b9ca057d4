//! From what many hosts touched to a plan, a trace and an image here: the query of the documentation in DuckDB, then the verbs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coldstart_testing::{PythonPackages, compile, succeed};
use serde_json::{Value, json};

use crate::text;

const BUILD: &str = "00112233";
const OTHER_BUILD: &str = "44556677";

/// A program with a build id and data beside it, on a real disk.
struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let scene = Self { directory };
        let options = [&format!("-Wl,--build-id=0x{BUILD}")[..]];
        compile("cc", &scene.path("app"), "int main(void) { return 0; }", &options);
        fs::write(scene.path("data"), vec![b'x'; 64 * 4096]).unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        // The columns hold paths without links.
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn size(&self, name: &str) -> u64 {
        fs::metadata(self.path(name)).unwrap().len()
    }

    /// A row of a fleet table on pages of the data.
    fn row(&self, build: &str, page: u64, pages: u64, hosts: u64) -> Value {
        json!({"program": self.path("app"), "program_build_id": build, "path": self.path("data"), "build_id": null,
            "size": self.size("data"), "page": page, "pages": pages, "hosts": hosts, "of_hosts": 10,
            "first_use_us": 1000 * page, "start_us": 100_000})
    }

    /// A row on the program's own first page.
    fn own_row(&self) -> Value {
        let mut row = self.row(BUILD, 0, 1, 10);
        (row["path"], row["size"], row["build_id"]) = (json!(self.path("app")), json!(self.size("app")), json!(BUILD));
        row
    }

    fn table(&self, rows: &[Value]) -> PathBuf {
        let table = self.path("fleet.jsonl");
        fs::write(&table, rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
        table
    }

    fn coldstart(&self, words: &[&str], table: &Path, output: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.args(words).arg(table).arg("-o").arg(self.path(output)).current_dir(self.directory.path());
        command.output().unwrap()
    }

    fn done(&self, words: &[&str], table: &Path, output: &str) -> Value {
        let output = self.coldstart(&[words, &["--json"]].concat(), table, output);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Path, first page and number of pages of each step with pages.
    fn planned(&self, plan: &str) -> Vec<(PathBuf, u64, u64)> {
        let bytes = fs::read(self.path(plan)).unwrap();
        let plan = coldstart_profile::plan::PlanView::read(&bytes).unwrap().to_plan();
        let steps = plan.steps.iter().filter_map(|step| Some((step.target, step.pages?)));
        let mut steps: Vec<_> = steps
            .map(|(target, pages)| (plan.targets[target as usize].path.clone(), pages.start.0, pages.length() / 4096))
            .collect();
        steps.sort();
        steps
    }
}

#[test]
fn a_host_takes_the_builds_that_it_has() {
    let scene = Scene::new();
    let mut changed = scene.row(BUILD, 60, 2, 10);
    changed["size"] = json!(scene.size("data") + 4096);
    let mut gone = scene.row(BUILD, 0, 1, 10);
    gone["path"] = json!("/no/such/file");
    let mut app = scene.own_row();
    let rows = [
        scene.row(BUILD, 0, 8, 10),
        scene.row(BUILD, 40, 4, 3),
        scene.row(OTHER_BUILD, 20, 4, 10),
        changed,
        gone,
        app.clone(),
    ];
    let table = scene.table(&rows);

    let outcome = scene.done(&["prefetch", "merge", "--share", "50"], &table, "app.prefetch");
    let expected = [(scene.path("app"), 0, 1), (scene.path("data"), 0, 8)];
    assert_eq!(scene.planned("app.prefetch"), expected);
    assert_eq!((&outcome["recordings"], &outcome["share_percent"]), (&10.into(), &50.into()), "{outcome}");
    assert_eq!(outcome["left_out_bytes"], 4 * 4096);
    assert!(outcome["notes"].to_string().contains("/no/such/file"), "{outcome}");
    scene.done(&["prefetch", "merge", "--share", "30"], &table, "app.prefetch");
    assert!(scene.planned("app.prefetch").contains(&(scene.path("data"), 40, 4)));

    // Another version of the file alone is left out.
    app["build_id"] = json!(OTHER_BUILD);
    let table = scene.table(&[scene.row(BUILD, 0, 8, 10), app]);
    let outcome = scene.done(&["prefetch", "merge"], &table, "app.prefetch");
    assert_eq!(scene.planned("app.prefetch"), [(scene.path("data"), 0, 8)]);
    assert!(outcome["notes"].to_string().contains("another version"), "{outcome}");
}

#[test]
fn an_image_and_lists_are_made_of_the_trace() {
    let scene = Scene::new();
    // An image takes data that lies beside a program, if it has pages of the program.
    let table = scene.table(&[scene.own_row(), scene.row(BUILD, 0, 8, 10), scene.row(BUILD, 40, 4, 3)]);
    scene.done(&["trace", "import", "--share", "50"], &table, "app.coldtrace");
    let trace = scene.path("app.coldtrace");
    let question = "SELECT page, pages FROM touches ORDER BY pages";
    let mut sql = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    let answer = succeed(sql.args(["trace", "sql", "--csv"]).arg(&trace).arg(question));
    assert_eq!(answer, "page,pages\n0,1\n0,8\n");

    let mut image = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    image.args(["image", "make", "--json", "--trace"]).arg(&trace).arg("-o").arg(scene.path("app.erofs"));
    let made: Value = serde_json::from_str(&succeed(&mut image)).unwrap();
    assert_eq!(made["hot_pages"], 9, "{made}");

    let from = ["prefetch", "record", "--exact", "--from"];
    let recorded = scene.coldstart(&from, &trace, "from.prefetch");
    assert_eq!(recorded.status.code(), Some(0), "{}", text(&recorded.stderr));
    assert_eq!(scene.planned("from.prefetch"), [(scene.path("app"), 0, 1), (scene.path("data"), 0, 8)]);
}

#[test]
fn what_is_no_table_of_this_program_is_refused() {
    let scene = Scene::new();
    let said = |rows: &[Value]| {
        let output = scene.coldstart(&["prefetch", "merge"], &scene.table(rows), "app.prefetch");
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        text(&output.stderr).replace('\n', " ")
    };
    let mut wrong = scene.row(BUILD, 0, 8, 10);
    wrong["pages"] = json!(65);
    let error = said(&[scene.row(BUILD, 0, 8, 10), wrong]);
    assert!(error.contains("line 2, column `pages`"), "{error}");
    let error = said(&[scene.row(OTHER_BUILD, 0, 8, 10)]);
    assert!(error.contains(&format!("here {BUILD}, there {OTHER_BUILD}")), "{error}");
    let mut other = scene.row(BUILD, 0, 8, 10);
    other["program"] = json!("/bin/sh");
    assert!(said(&[scene.row(BUILD, 0, 8, 10), other]).contains("several programs"));
    let mut changed = scene.row(BUILD, 0, 8, 10);
    changed["size"] = json!(1 << 20);
    assert!(said(&[changed]).contains("none of the files"));
    let table = scene.table(&[scene.row(BUILD, 0, 8, 10)]);
    let both = scene.coldstart(&["prefetch", "merge", table.to_str().unwrap()], &table, "app.prefetch");
    assert!(text(&both.stderr).contains("with others"), "{}", text(&both.stderr));
    assert!(!scene.path("app.prefetch").exists());
}

/// The query of the documentation.
fn documented_query() -> String {
    let page = include_str!("../../../../docs/scale.md");
    let (_, query) = page.split_once("```sql\n-- fleet table\n").expect("the page has the query");
    query.split_once("```").expect("it ends").0.to_owned()
}

#[test]
fn the_documented_query_makes_a_table_that_is_taken() {
    let Some(packages) = PythonPackages::Tables.directory() else { return };
    let scene = Scene::new();
    let touch = |host: u64, build: &str, path: &str, build_id: &str, page: u64| {
        let size = scene.size(path) + u64::from(build_id == OTHER_BUILD) * 4096;
        let build_id = if build_id.is_empty() { "NULL".to_owned() } else { format!("'{build_id}'") };
        let path = scene.path(path);
        format!(
            "('h{host}', '{}', '{build}', '{}', {build_id}, {size}, {page}, {}, {})",
            scene.path("app").display(),
            path.display(),
            1000 * (page + 1) * host,
            100_000 * host
        )
    };
    let mut rows = Vec::new();
    for host in 1..=10 {
        // Three of ten hosts have another build of the program; one of the seven another build of its own file.
        let build = if host > 7 { OTHER_BUILD } else { BUILD };
        let own = if host > 6 { OTHER_BUILD } else { BUILD };
        rows.push(touch(host, build, "app", own, 0));
        rows.extend((0..4).map(|page| touch(host, build, "data", "", page)));
        // One host of a build opens a document that no other one does.
        if host % 5 == 0 {
            rows.push(touch(host, build, "data", "", 50));
        }
    }
    let script = format!(
        "import duckdb, sys
query = sys.stdin.read()
base = duckdb.connect()
base.execute('''CREATE TABLE touches AS SELECT * FROM (VALUES {})
    AS t (host, program, program_build_id, path, build_id, size, page, at_ns, start_ns)''')
base.execute(f\"COPY ({{query}}) TO 'fleet.jsonl' (FORMAT json)\")",
        rows.join(",")
    );
    let query = scene.path("fleet.sql");
    fs::write(&query, documented_query()).unwrap();
    let mut python = Command::new("python3");
    python.arg("-c").arg(script).env("PYTHONPATH", packages).current_dir(scene.directory.path());
    succeed(python.stdin(fs::File::open(&query).unwrap()));

    let table = scene.path("fleet.jsonl");
    let lines = fs::read_to_string(&table).unwrap();
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |build: &str, path: &str, page: u64| {
        let path = json!(scene.path(path));
        let is_it = |row: &&Value| row["program_build_id"] == build && row["path"] == path && row["page"] == page;
        let found = rows.iter().find(is_it).unwrap_or_else(|| panic!("no such row: {lines}"));
        ["pages", "hosts", "of_hosts", "first_use_us"].map(|column| found[column].as_u64().unwrap())
    };
    assert_eq!(rows.len(), 7, "{lines}");
    // The median host is the fourth, and each host takes its own time: a page's place in the start is the same for all.
    assert_eq!(of(BUILD, "data", 0), [4, 7, 7, 4]);
    assert_eq!(of(BUILD, "data", 50), [1, 1, 7, 204]);
    // Of the file itself, the seventh host has another build, and does not count.
    let own: Vec<_> = rows.iter().filter(|row| row["path"] == json!(scene.path("app"))).collect();
    let counted = |row: &&Value| (row["hosts"].as_u64(), row["of_hosts"].as_u64());
    let mut counted: Vec<_> = own.iter().map(counted).collect();
    counted.sort_unstable();
    assert_eq!(counted, [(Some(1), Some(1)), (Some(3), Some(3)), (Some(6), Some(6))], "{lines}");

    scene.done(&["prefetch", "merge", "--share", "50"], &table, "app.prefetch");
    assert_eq!(scene.planned("app.prefetch"), [(scene.path("app"), 0, 1), (scene.path("data"), 0, 4)]);
}
