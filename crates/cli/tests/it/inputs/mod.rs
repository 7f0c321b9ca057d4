//! Whatever is named where something is to be read: each command ends, with an error that names it, and what is not a regular
//! file is not opened.
//!
//! `table.rs` lists the places of the command line, `kinds.rs` what can stand there. Needs `setpriv` and root for files that may
//! not be read.

mod bounded;
mod kinds;
mod plan;
mod starts;
pub(crate) mod table;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use bounded::{Ended, run};
use coldstart_history::History;
use coldstart_profile::trace::Trace;
use coldstart_testing::{Ingredients, built, compile, skip};
use kinds::{Kind, Placed};
use table::{Content, INPUTS, Input, Wanted};
use tempfile::TempDir;

/// A valid trace, for verbs that take two.
const FIRST_TRACE: &str = "app.coldtrace";
/// A valid image, for a verb that takes a directory besides.
const IMAGE: &str = "app.erofs";
/// A valid archive, for a verb that takes a trace besides.
const ARCHIVE: &str = "app.zip";
/// A list of functions, for a verb that takes two builds besides.
const LIST: &str = "app.order";
/// A program with names of its functions.
const NAMED: &str = "app.named";
const COLDSTART: &str = env!("CARGO_BIN_EXE_coldstart");

/// A directory that every user may use.
fn scratch() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    directory
}

/// The bytes of a valid file.
fn valid(content: Content) -> Vec<u8> {
    let directory = scratch();
    let path = directory.path().join("valid");
    match content {
        Content::Any | Content::Counted => b"some words\n".to_vec(),
        Content::Plan => plan::plan_of(&[Path::new("/bin/true")]),
        Content::Trace => {
            coldstart_tracefile::write_trace(&path, &Trace::default()).unwrap();
            fs::read(path).unwrap()
        }
        // A header of 104 bytes that says there is nothing behind it (tools/perf/util/header.h).
        Content::Recording => [b"PERFILE2".as_slice(), &104_u64.to_le_bytes(), &[0; 88]].concat(),
        Content::Measurement => br#"{"schema":"coldstart.measure/1","machine":{"kernel":"6.1"}}"#.to_vec(),
        Content::History => {
            drop(History::open(&path).unwrap());
            fs::read(path).unwrap()
        }
        Content::SavedPageCache => {
            let ended = Command::new(COLDSTART).args(["pagecache", "save"]).arg(&path).arg("/bin/true").output();
            assert!(path.is_file(), "{ended:?}");
            fs::read(path).unwrap()
        }
        Content::LoaderCache => {
            let words = ["ldcache", "write", "-o"];
            let ended = Command::new(COLDSTART).args(words).arg(&path).arg("/lib").output();
            assert!(path.is_file(), "{ended:?}");
            fs::read(path).unwrap()
        }
        Content::StartImage => {
            fs::create_dir(directory.path().join("tree")).unwrap();
            fs::write(directory.path().join("tree/file"), [b'f'; 9000]).unwrap();
            let words = ["image", "make", "-o"];
            let tree = directory.path().join("tree");
            let ended = Command::new(COLDSTART).args(words).arg(&path).arg("--tree").arg(tree).output();
            assert!(path.is_file(), "{ended:?}");
            fs::read(path).unwrap()
        }
        Content::LinkMap => b"Linker script and memory map\n\n .text.main 0x1000 0x10 a.o\n".to_vec(),
        // Without entries: an end record of zeros.
        Content::Zip => [&b"PK\x05\x06"[..], &[0; 18]].concat(),
        // Without the right to execute it: what is wrong with any of these is that it cannot be started.
        Content::Program | Content::Object | Content::ObjectTables => fs::read("/bin/true").unwrap(),
    }
}

/// A program that is not stripped.
fn named_program() -> PathBuf {
    let source = "int main(void) { return 0; }\n";
    let ingredients = Ingredients::new().bytes(source).program("gcc");
    built("named", &ingredients, |at| drop(compile("gcc", &at.join("named"), source, &[]))).join("named")
}

impl Input {
    fn content(&self) -> Content {
        match self.wanted {
            Wanted::File(content) | Wanted::FileOrDirectory(content) => content,
            Wanted::Directory => Content::Any,
        }
    }

    /// Whether what is named is wrong there.
    fn is_wrong(&self, kind: Kind) -> bool {
        match self.wanted {
            Wanted::Directory => !matches!(kind, Kind::Directory | Kind::Unreadable),
            Wanted::FileOrDirectory(_) if kind == Kind::Directory => false,
            Wanted::FileOrDirectory(Content::Counted) if kind == Kind::Unreadable => false,
            Wanted::FileOrDirectory(Content::Counted) => !Kind::NO_CONTENT.contains(&kind),
            Wanted::File(Content::Any) | Wanted::FileOrDirectory(Content::Any) => !Kind::NO_CONTENT.contains(&kind),
            Wanted::File(Content::ObjectTables) => !matches!(kind, Kind::Truncated | Kind::Huge),
            Wanted::File(_) | Wanted::FileOrDirectory(_) => true,
        }
    }

    fn words(&self, path: &Path) -> Vec<String> {
        let path = path.to_str().unwrap();
        self.words.split(' ').map(|word| word.replace("{}", path).replace("SELECT-1", "SELECT 1")).collect()
    }

    /// Runs the command and gives what is wrong with how it ended.
    fn try_out(&self, coldstart: &Path, kind: Kind, as_nobody: bool) -> Option<String> {
        let directory = scratch();
        let mut placed = Placed::new(kind, directory.path(), &valid(self.content()));
        let words = self.words(&placed.path);
        if words.iter().any(|word| word == FIRST_TRACE) {
            fs::write(directory.path().join(FIRST_TRACE), valid(Content::Trace)).unwrap();
        }
        if words.iter().any(|word| word == ARCHIVE) {
            fs::write(directory.path().join(ARCHIVE), valid(Content::Zip)).unwrap();
        }
        if words.iter().any(|word| word == IMAGE) {
            fs::write(directory.path().join(IMAGE), valid(Content::StartImage)).unwrap();
        }
        if words.iter().any(|word| word == NAMED) {
            fs::copy(named_program(), directory.path().join(NAMED)).unwrap();
            fs::write(directory.path().join(LIST), "main\n").unwrap();
        }
        let Ended { code, signal, stdout, stderr } = run(coldstart, &words, directory.path(), as_nobody);
        // As it was typed, or what it leads to.
        let names = [Some(placed.path.clone()), placed.path.canonicalize().ok()];
        let says = |name: &PathBuf| [&stderr, &stdout].iter().any(|said| said.contains(name.to_str().unwrap()));
        let is_named = names.iter().flatten().any(says);
        let wrong = match code {
            Some(1 | 2) if is_named => placed.disturbed()?,
            Some(1 | 2) => "does not name the path".to_owned(),
            _ => format!("code {code:?}, signal {signal:?}"),
        };
        Some(format!("{} ({kind:?}): {wrong}\n{stdout}{stderr}", self.words))
    }
}

/// Tries out all inputs with these kinds.
fn all_refuse(kinds: &[Kind]) {
    let tries = INPUTS.iter().flat_map(|input| kinds.iter().map(move |&kind| (input, kind)));
    let wrong: Vec<String> = tries
        .filter(|(input, kind)| input.is_wrong(*kind))
        .filter_map(|(input, kind)| input.try_out(Path::new(COLDSTART), kind, false))
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_not_a_regular_file_is_refused_and_not_opened() {
    all_refuse(Kind::NEVER_A_FILE);
}

#[test]
fn what_is_not_there_is_refused() {
    all_refuse(Kind::NOT_THERE);
}

#[test]
fn files_that_hold_something_else_are_refused() {
    all_refuse(Kind::NO_CONTENT);
}

#[test]
fn what_may_not_be_read_is_refused() {
    if !rustix::process::geteuid().is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        return skip("only root can become another user, by setpriv");
    }
    let directory = scratch();
    let coldstart = reachable(directory.path());
    let inputs = INPUTS.iter().filter(|input| input.is_wrong(Kind::Unreadable));
    let wrong: Vec<String> = inputs.filter_map(|input| input.try_out(&coldstart, Kind::Unreadable, true)).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The command as a file that other users may execute: what was built may lie in a directory of our own.
fn reachable(directory: &Path) -> PathBuf {
    let path = directory.join("coldstart");
    let copied = Command::new("cp").args(["--preserve=mode", COLDSTART]).arg(&path).status();
    assert!(copied.unwrap().success());
    path
}

/// Commands that only look at the file, so that they can be repeated.
const REPEATABLE: &[&str] = &[
    "resolve --later",
    "resolve --mapped",
    "prefetch show",
    "prefetch run",
    "ldcache show",
    "inspect {}",
    "status",
    "image show",
    "image verify {}",
    "verify {}",
    "pack {} -o",
    "measure --history-file new --import",
];

#[test]
fn a_file_that_changes_places_with_a_fifo_meanwhile_does_no_harm() {
    let mut wrong = Vec::new();
    for input in INPUTS.iter().filter(|input| REPEATABLE.iter().any(|words| input.words.starts_with(words))) {
        let directory = scratch();
        let other = directory.path().join("other");
        fs::write(&other, valid(input.content())).unwrap();
        let mut fifo = Placed::new(Kind::Fifo, directory.path(), &[]);
        let words = input.words(&fifo.path);
        let ended: Vec<Ended> = fifo.while_it_changes_places(&other, || {
            (0..3).map(|_| run(Path::new(COLDSTART), &words, directory.path(), false)).collect()
        });
        let harm = fifo.disturbed().or_else(|| {
            let killed = ended.iter().find(|ended| !matches!(ended.code, Some(0..=2)));
            killed.map(|ended| format!("{ended:?}"))
        });
        wrong.extend(harm.map(|harm| format!("{}: {harm}", input.words)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
