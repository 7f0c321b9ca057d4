//! `coldstart-run --index DIR`: the program uses the index, alone and beside a plan; and whatever the index is, the program starts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "shared with the tests of the command line")]
#[path = "../../cli/tests/it/inputs/bounded.rs"]
mod bounded;
#[allow(dead_code, reason = "shared with the tests of the command line")]
#[path = "../../cli/tests/it/inputs/kinds.rs"]
mod kinds;
mod one_file;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use bounded::{Ended, run};
use coldstart_app::index::{MakeOptions, make};
use coldstart_app::launching::{Launching, Waiting};
use coldstart_app::observer::Silent;
use coldstart_index::{CURRENT, Guard, IndexPlace, Language, LanguageIndex, MANIFEST, Manifest, RemoteNames};
use coldstart_launch::{CommandLine, Readiness};
use coldstart_testing::{eventually, output_of, script, skip};
use kinds::{Kind, Placed};
use one_file::{PAGES, make_cold, plan_of, resident, write_pages};
use tempfile::TempDir;

const LAUNCHER: &str = env!("CARGO_BIN_EXE_coldstart-run");
/// Debian's own. Others may stand before it in PATH.
const PYTHON: &str = "/usr/bin/python3";
/// In Python's path, with a module each.
const DIRECTORIES: usize = 80;

fn scratch() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = directory.path().canonicalize().unwrap();
    (directory, here)
}

/// An index of nothing, for the variables of some languages, with guards and files to be read ahead.
fn index_of(target: &Path, languages: &[Language], guards: &[&Path], read_ahead: &[&Path]) {
    let part = |&language: &Language| LanguageIndex {
        language,
        interpreter: "/no/interpreter".into(),
        version: "0".to_owned(),
        modules: 0,
        missing: 0,
        guards: guards.iter().filter_map(|path| Guard::of(path)).collect(),
        sources: Vec::new(),
        pack_bytes: 0,
        read_ahead: read_ahead.iter().map(|path| path.as_os_str().as_encoded_bytes().to_vec()).collect(),
    };
    let place = IndexPlace::begin(target).unwrap();
    for language in languages {
        place.write(&format!("{}/data", language.directory()), b"data").unwrap();
    }
    let languages = languages.iter().map(part).collect();
    place.finish(&Manifest { command: vec![b"x".to_vec()], languages, remote: RemoteNames::default() }).unwrap();
}

/// Has a program print its variable, started by the launcher with these words before the dashes.
fn printed(words: &[&Path], variable: &str, before: Option<&str>) -> Output {
    let mut command = Command::new(LAUNCHER);
    command.args(words).args(["--", "printenv", variable]).env_remove(variable);
    command.envs(before.map(|before| (variable, before)));
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Lines of strace for calls with a path, of a program and its children.
fn calls(log: &Path, words: &[&Path]) -> (Output, Vec<String>) {
    let mut command = Command::new("strace");
    command.args(["-f", "-s", "4096", "-e", "trace=%file", "-o"]).arg(log).args(words).env_remove("PYTHONPATH");
    let output = command.output().unwrap();
    (output, fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn a_program_in_python_is_the_same_with_fewer_calls() {
    if !Path::new(PYTHON).exists() || Command::new("strace").arg("-V").output().is_err() {
        return skip("python3 or strace is not installed");
    }
    let (_directory, here) = scratch();
    let mut entries = Vec::new();
    for number in 0..DIRECTORIES {
        let entry = here.join(number.to_string());
        fs::create_dir(&entry).unwrap();
        fs::write(entry.join(format!("module{number}.py")), "").unwrap();
        entries.push(entry.into_os_string().into_string().unwrap());
    }
    let app = here.join("app.py");
    let imports = "import importlib, os\nfor number in range(COUNT):\n    print(importlib.import_module(f'module{number}').__file__)\n\
                   print(os.environ['PYTHONPATH'])\n";
    fs::write(&app, imports.replace("COUNT", &DIRECTORIES.to_string())).unwrap();
    let path = entries.join(":");
    let wrapper = format!(
        "#!/bin/sh\nexport PYTHONPATH=\"${{PYTHONPATH:+$PYTHONPATH:}}{path}\"\nexec {PYTHON} -B {}\n",
        app.display()
    );
    let program = script(&here, "program", wrapper, 0o755);
    let plain = output_of(Command::new(&program).env_remove("PYTHONPATH"));
    assert!(plain.status.success() && stdout(&plain).ends_with(&format!("{path}\n")), "{plain:?}");

    let index = here.join("index");
    let waiting =
        Waiting { ready: Readiness::Exit, time_limit: Duration::from_secs(120), grace: Duration::from_secs(1) };
    let options = MakeOptions {
        shim: false,
        output: index.clone(),
        command: CommandLine::from_words([OsString::from(&program)]).unwrap(),
        launching: Launching { waiting, input: None, show_output: false },
    };
    let made = make(&options, &Silent).unwrap();
    assert!(made.kept, "{made:?}");

    let log = here.join("log");
    let (of_plain, plain_calls) = calls(&log, &[&program]);
    let (indexed, indexed_calls) = calls(
        &log,
        &[LAUNCHER, "--index", index.to_str().unwrap(), "--"]
            .map(Path::new)
            .into_iter()
            .chain([program.as_path()])
            .collect::<Vec<_>>(),
    );
    for started in [of_plain, indexed] {
        assert_eq!((stdout(&started), started.stderr), (stdout(&plain), Vec::new()));
    }
    // The launcher's own calls count.
    let (plain_calls, indexed_calls) = (plain_calls.len(), indexed_calls.len());
    assert!(indexed_calls * 2 < plain_calls, "{plain_calls} calls, {indexed_calls} with the index");
}

#[test]
fn the_variables_of_all_languages_are_set_before_their_values() {
    let (_directory, here) = scratch();
    let index = here.join("index");
    index_of(&index, &[Language::Python, Language::Perl, Language::Guile, Language::Ruby], &[], &[]);
    let words = [Path::new("--index"), &index];
    let content = index.join(CURRENT);
    let content = content.to_str().unwrap();
    for (variable, prefix, separator) in [
        ("PYTHONPATH", format!("{content}/python"), ":"),
        ("RUBYLIB", format!("{content}/ruby"), ":"),
        ("GUILE_LOAD_PATH", format!("{content}/guile:..."), ":"),
        ("GUILE_LOAD_COMPILED_PATH", "...".to_owned(), ":"),
        ("PERL5OPT", format!("-M5;BEGIN{{local($@,$!);do(q{{{content}/perl/hook.pl}})}}"), " "),
    ] {
        assert_eq!(stdout(&printed(&words, variable, None)), format!("{prefix}\n"), "{variable}");
        let both = format!("{prefix}{separator}before\n");
        assert_eq!(stdout(&printed(&words, variable, Some("before"))), both, "{variable}");
    }
    let mut command = Command::new(LAUNCHER);
    command.args(words).args(["--", "sh", "-c", "exit 9"]);
    assert_eq!(command.status().unwrap().code(), Some(9));
}

#[test]
fn beside_a_plan_both_are_used() {
    let (_directory, here) = scratch();
    let (index, planned, ahead, plan) =
        (here.join("index"), here.join("planned"), here.join("ahead"), here.join("plan"));
    for file in [&planned, &ahead] {
        write_pages(file, PAGES);
    }
    index_of(&index, &[Language::Python], &[], &[&ahead]);
    let data = index.join(CURRENT).join("python/data");
    fs::write(&plan, plan_of(&planned, &planned)).unwrap();
    for file in [&planned, &ahead, &data] {
        make_cold(file);
        if resident(file) != Some(0) {
            return skip("fincore is missing, or this file system keeps pages");
        }
    }
    let output = printed(&[Path::new("--index"), &index, &plan], "PYTHONPATH", None);
    assert_eq!((stdout(&output), &*output.stderr), (format!("{}\n", data.parent().unwrap().display()), &b""[..]));
    eventually("all is in memory", || {
        (resident(&planned), resident(&ahead), resident(&data)) == (Some(PAGES), Some(PAGES), Some(1))
    });
    // One that cannot be used does not keep the other from being used.
    make_cold(&planned);
    let output = printed(&[Path::new("--index"), &here.join("none"), &plan], "PYTHONPATH", None);
    assert_eq!(output.status.code(), Some(1), "the variable is not set");
    eventually("the planned file is in memory", || resident(&planned) == Some(PAGES));
    let output = printed(&[Path::new("--index"), &index, &here.join("none")], "PYTHONPATH", None);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("coldstart: started without prefetch: "));
}

#[test]
fn what_the_interpreter_will_check_is_asked_before_it_starts() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("strace is not installed");
    }
    let (_directory, here) = scratch();
    let guarded: Vec<PathBuf> = (0..100).map(|number| here.join(format!("guard{number}"))).collect();
    let paths: Vec<&Path> = guarded.iter().map(PathBuf::as_path).collect();
    let index = here.join("index");
    index_of(&index, &[Language::Python], &paths, &[]);
    // A change is nothing to complain of.
    fs::create_dir(&guarded[7]).unwrap();
    let words = [LAUNCHER, "--index", index.to_str().unwrap(), "--", "true"].map(Path::new);
    let (output, lines) = calls(&here.join("log"), &words);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let begun = lines.iter().rposition(|line| line.contains("execve(")).unwrap();
    for path in guarded {
        let quoted = format!("\"{}\"", path.display());
        assert!(lines[..begun].iter().any(|line| line.contains(&quoted)), "{quoted} in {lines:#?}");
    }
}

/// A start that ends with code 7.
fn start(index: &Path, directory: &Path) -> Ended {
    let words = ["--index", index.to_str().unwrap(), "--", "sh", "-c", "exit 7"].map(str::to_owned);
    run(Path::new(LAUNCHER), &words, directory, false)
}

#[test]
fn the_program_starts_whatever_the_index_is() {
    let valid = Manifest { command: vec![b"x".to_vec()], languages: Vec::new(), remote: RemoteNames::default() }
        .encode()
        .unwrap();
    for kinds in [Kind::NEVER_A_FILE, Kind::NOT_THERE, Kind::NO_CONTENT] {
        for &kind in kinds {
            for is_manifest in [false, true] {
                let (_directory, here) = scratch();
                let index = here.join("index");
                let around = if is_manifest { index.join(CURRENT) } else { here.clone() };
                fs::create_dir_all(&around).unwrap();
                let mut placed = Placed::new(kind, &around, &valid);
                let index = if is_manifest { index } else { placed.path.clone() };
                if is_manifest && placed.path.symlink_metadata().is_ok() {
                    fs::rename(&placed.path, around.join(MANIFEST)).unwrap();
                }
                let ended = start(&index, &here);
                assert_eq!(ended.code, Some(7), "{kind:?} {is_manifest}: {ended:?}");
                let said =
                    format!("coldstart: started without the index: cannot use the index `{}`: ", index.display());
                let is_one_line = ended.stderr.lines().count() == 1;
                assert!(ended.stderr.starts_with(&said) && is_one_line, "{kind:?} {is_manifest}: {ended:?}");
                if !is_manifest {
                    assert_eq!(placed.disturbed(), None, "{kind:?}");
                }
            }
        }
    }
}

#[test]
fn node_starts_without_an_index_that_has_lost_its_hook() {
    let (_directory, here) = scratch();
    let index = here.join("index");
    index_of(&index, &[Language::Node], &[], &[]);
    let words = [Path::new("--index"), &index];
    let output = printed(&words, "NODE_OPTIONS", Some("--no-warnings"));
    assert_eq!(stdout(&output), "--no-warnings\n");
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("coldstart: started without the index: "));
    fs::write(index.join(CURRENT).join("node/hook.js"), "").unwrap();
    let set = format!("--require {}/node/hook.js --no-warnings\n", index.join(CURRENT).display());
    assert_eq!(stdout(&printed(&words, "NODE_OPTIONS", Some("--no-warnings"))), set);
}

#[test]
fn wrong_usage_starts_nothing() {
    for words in [
        &["--index"][..],
        &["--index", "i"],
        &["--index", "i", "--"],
        &["--index", "i", "true"],
        &["--index", "i", "plan", "true"],
        &["--index", "--", "echo"],
        &["--", "echo"],
        &["plan", "echo"],
        &[],
    ] {
        let output = Command::new(LAUNCHER).args(words).output().unwrap();
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{words:?}");
        assert!(output.stderr.starts_with(b"usage: coldstart-run [--index DIR] [PLAN|IMAGE] -- "), "{words:?}");
    }
}
