//! `coldstart inspect` as its readers meet it: small libraries with known costs, and real ones of this machine.
//!
//! The fixtures are built by g++; what differs between compilers (sizes, addresses, counts of padding) is not held.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use coldstart_testing::{scratch, skip};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

fn inspect(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.current_dir(directory).arg("inspect").args(arguments).env_remove("LD_LIBRARY_PATH");
    command.stdin(Stdio::null()).output().unwrap()
}

/// What it prints; it must have succeeded.
fn report(directory: &Path, arguments: &[&str]) -> String {
    let output = inspect(directory, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && stderr.is_empty(), "{arguments:?}: {} {stderr}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// A library of vtables, initialisers with priorities, a table of pointers, both hash tables and a long search path.
const LIBRARY: &str = r#"
    struct Shape { virtual ~Shape() {} virtual int area() = 0; virtual int sides() { return 0; } };
    struct Square : Shape { int area() override { return 4; } int sides() override { return 4; } };
    struct Triangle : Shape { int area() override { return 1; } int sides() override { return 3; } };
    Shape *square() { return new Square; }
    Shape *triangle() { return new Triangle; }
    int state;
    extern "C" {
        __attribute__((constructor(101))) void runs_first() { state = 1; }
        __attribute__((constructor(102))) void runs_second() { state = 2; }
        __attribute__((constructor)) void runs_last() { state = 3; }
        const char *names_of_things[] = { "one", "two", "three", "four", "five", "six", "seven", "eight" };
    }
"#;

/// Compiles a library; the linker's options are those that linkers differ in by default.
fn build(directory: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let path = directory.join(name);
    let source_path = directory.join(format!("{name}.cpp"));
    std::fs::write(&source_path, source).unwrap();
    let mut compiler = Command::new("g++");
    compiler.args(["-O1", "-fPIC", "-shared", "-Wl,-z,nopack-relative-relocs", "-Wl,--build-id=sha1", "-o"]);
    compiler.arg(&path).arg(&source_path).args(options);
    let output = compiler.output().expect("g++ runs");
    let output = if output.status.success() {
        output
    } else {
        // Binutils before 2.38 do not know the option, and do not pack.
        let mut compiler = Command::new("g++");
        compiler.args(["-O1", "-fPIC", "-shared", "-Wl,--build-id=sha1", "-o"]);
        compiler.arg(&path).arg(&source_path).args(options).output().unwrap()
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

fn library(directory: &Path) -> PathBuf {
    let paths = "-Wl,-rpath,/opt/one/lib:/opt/two/lib:/opt/three/lib,--enable-new-dtags";
    build(
        directory,
        "libshapes.so",
        LIBRARY,
        &["-Wl,--hash-style=both", paths, "-Wl,-soname,libshapes.so.1", "-Wl,-z,now"],
    )
}

/// Holds what no line of a report may break.
fn assert_tidy(text: &str, what: &str) {
    assert!(!text.is_empty(), "{what}");
    for line in text.lines() {
        assert!(line.width() <= 100, "{what}: {} columns: {line}", line.width());
        assert_eq!(line.trim_end(), line, "{what}: blanks at the end");
        assert!(!line.chars().any(char::is_control), "{what}: {line:?}");
    }
    assert!(!text.contains("\n\n\n"), "{what}: two empty lines");
}

/// The part of a report from a line that begins so to the next empty line but `more`.
fn section(text: &str, begin: &str, more: usize) -> String {
    let at = text.lines().position(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("no {begin} in {text}"));
    let mut empty = 0;
    let lines = text.lines().skip(at).take_while(|line| {
        empty += usize::from(line.is_empty());
        empty <= more
    });
    lines.map(|line| line.to_owned() + "\n").collect()
}

/// Replaces what differs between compilers.
fn steady(check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"[+-]?\b(\d{1,3}( \d{3})+|\d+(\.\d)?)( [kM]?B)?\b", "[N]");
    settings.add_filter(r"0x[0-9a-f]+", "[ADDRESS]");
    settings.add_filter(r" {2,}", "  ");
    settings.bind(check);
}

#[test]
fn initialisers_are_listed_in_the_order_in_which_they_run() {
    let directory = scratch();
    library(directory.path());
    let text = report(directory.path(), &["libshapes.so"]);
    assert_tidy(&text, "libshapes.so");
    let list = section(&text, "Initialisers", 1);
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .filter(|word| word.starts_with("runs_"))
        .collect();
    assert_eq!(names, ["runs_first", "runs_second", "runs_last"], "{list}");
}

#[test]
fn the_ranked_findings_stand_on_the_first_screen() {
    let directory = scratch();
    library(directory.path());
    let text = report(directory.path(), &["libshapes.so"]);
    let first_screen: Vec<&str> = text.lines().take(24).collect();
    assert!(first_screen.iter().any(|line| line.contains("long-search-path")), "{text}");
    assert!(text.contains("names come from its own symbol table"), "{text}");
    let in_full = section(&text, "The findings in full", 2);
    for label in ["long-search-path", "where", "why", "fix", "saves", "note"] {
        assert!(in_full.contains(&format!("\n  {label}")), "no {label} in {in_full}");
    }
    steady(|| {
        insta::assert_snapshot!(section(&text, "What could be better", 1), @r"
        What could be better: [N] finding, the most worthwhile fix first

          finding  a fix saves  figures  fix
          long-search-path  [N] failed probes  at most  fewer directories, those with the most libraries first
        ");
    });
}

#[test]
fn layout_tells_names_and_hash_tables() {
    let directory = scratch();
    library(directory.path());
    let text = report(directory.path(), &["libshapes.so"]);
    let layout = section(&text, "Layout", 2);
    for expected in [
        "\n  soname     libshapes.so.1\n",
        "\n  RUNPATH    /opt/one/lib:/opt/two/lib:/opt/three/lib\n",
        "\n  GNU hash   ",
        "\n  old hash   ",
        "libstdc++.so.6",
    ] {
        assert!(layout.contains(expected), "no {expected:?} in\n{layout}");
    }
}

#[test]
fn owners_are_named_or_inferred_and_marked_so() {
    let directory = scratch();
    let path = library(directory.path());
    let named = report(directory.path(), &["libshapes.so"]);
    let owners = section(&named, "Relocated words by owner", 3);
    assert!(owners.contains("names_of_things"), "{owners}");
    let vtables = owners.lines().find(|line| line.trim_start().starts_with("vtables")).unwrap();
    assert!(vtables.ends_with("name"), "{vtables}");

    // Without symbols, exported vtables still have names; hidden ones have only their shape.
    build(directory.path(), "libhidden.so", LIBRARY, &["-fvisibility=hidden", "-s"]);
    let inferred = report(directory.path(), &["libhidden.so"]);
    assert!(inferred.contains("stripped; only exported symbols have names"), "{inferred}");
    assert!(section(&inferred, "Relocated words by owner", 2).contains("inferred from shape"), "{inferred}");
    assert!(path.exists());
}

#[test]
fn a_fix_that_this_program_cannot_do_is_not_recommended_as_if_it_could() {
    let directory = scratch();
    library(directory.path());
    let help = Command::new(env!("CARGO_BIN_EXE_coldstart")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let text = report(directory.path(), &["libshapes.so", "--all"]);
    for verb in text.split("`coldstart ").skip(1).filter_map(|rest| rest.split('`').next()) {
        assert!(help.contains(&format!("\n  {verb} ")), "`{verb}` is not there:\n{help}");
    }
}

/// Puts a name of the same length in the place of another, wherever it stands.
fn rename(path: &Path, old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    let mut bytes = std::fs::read(path).unwrap();
    let places: Vec<usize> =
        bytes.windows(old.len()).enumerate().filter(|(_, window)| *window == old).map(|(place, _)| place).collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place..place + new.len()].copy_from_slice(new);
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn hostile_names_never_reach_the_terminal_as_they_are() {
    let directory = scratch();
    let long = "very_long_name_of_a_template_".repeat(180);
    let things: String = (0..40).map(|number| format!("\"thing {number}\", ")).collect();
    let source = format!(
        "{LIBRARY} const char *long_table[] __asm__(\"{long}\") = {{ {things} }};\n\
         extern \"C\" {{ const char *evil_table_name[] = {{ {things} }}; \n\
         __attribute__((constructor)) void evil_initialiser() {{ state++; }} }}"
    );
    let soname = "-Wl,-soname,lib\u{1b}[2Jnew\nline\u{202e}.so";
    let long_path = format!("-Wl,-rpath,/{}:\u{1b}[31m/red\n/line:\u{9b}1m", "deep/".repeat(800));
    let path = build(directory.path(), "libevil.so", &source, &[soname, &long_path]);
    rename(&path, b"evil_table_name", b"evil\x1b[31m\n\t_\xff\xc2\x85");
    rename(&path, b"evil_initialiser", b"evil\x1b]0;title\x07\r_");
    std::fs::create_dir(directory.path().join("tree")).unwrap();
    std::fs::copy(&path, directory.path().join("tree/<b>&\"\u{1b}[31m\nname ]]>.so")).unwrap();
    std::fs::copy(&path, directory.path().join("tree/other.so")).unwrap();
    for arguments in [
        vec!["libevil.so"],
        vec!["libevil.so", "--all"],
        vec!["tree"],
        vec!["tree", "--all"],
        vec!["libevil.so", "--compare", "tree"],
    ] {
        let text = report(directory.path(), &arguments);
        assert_tidy(&text, &arguments.join(" "));
    }
    let text = report(directory.path(), &["libevil.so"]);
    assert!(text.contains("lib\\u{1b}[2Jnew\\nline\\u{202e}.so"), "{text}");
    assert!(text.contains("very_long_name_of_a_template_") && text.contains('…'), "{text}");
    assert!(text.contains("evil\\u{1b}[31m\\n\\t_"), "{text}");
}

#[test]
fn the_picture_is_well_formed_whatever_files_are_called() {
    let directory = scratch();
    let path = library(directory.path());
    let tree = directory.path().join("<b>&amp;\"' --\u{1b}[0m");
    std::fs::create_dir(&tree).unwrap();
    for number in 0..25 {
        std::fs::copy(&path, tree.join(format!("\u{ffff}<svg onload=\"x\">{number}\n]]>"))).unwrap();
    }
    let draw = || {
        let output = inspect(directory.path(), &[tree.to_str().unwrap(), "--svg", "picture.svg"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(directory.path().join("picture.svg")).unwrap()
    };
    let picture = draw();
    assert!(!picture.chars().any(|character| character.is_control() && character != '\n'), "{picture}");
    assert!(
        !picture.contains("<b>") && !picture.contains("onload=\"x\">") && !picture.contains('\u{ffff}'),
        "{picture}"
    );
    let mut depth = 0_i32;
    for event in svg::read(&picture).unwrap() {
        match event {
            svg::parser::Event::Tag(_, svg::node::element::tag::Type::Start, _) => depth += 1,
            svg::parser::Event::Tag(_, svg::node::element::tag::Type::End, _) => depth -= 1,
            svg::parser::Event::Error(error) => panic!("{error}"),
            _ => {}
        }
    }
    assert_eq!(depth, 0, "every element ends");
    assert_eq!(picture.matches("class=\"part code\"").count(), 20, "the largest only");
    assert_eq!(draw(), picture, "the same every time");
}

#[test]
fn a_directory_is_ranked_and_what_is_passed_over_is_counted() {
    let directory = scratch();
    let tree = directory.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    let path = library(directory.path());
    std::fs::copy(&path, tree.join("a.so")).unwrap();
    let things: String = (0..3_000).map(|number| format!("\"thing {number}\", ")).collect();
    let many =
        build(directory.path(), "many.so", &format!("extern \"C\" {{ const char *many[] = {{ {things} }}; }}"), &[]);
    std::fs::copy(&many, tree.join("z.so")).unwrap();
    std::fs::write(tree.join("script"), "#!/bin/sh\n").unwrap();
    std::fs::write(tree.join("a.cpp"), "int some_function() { return 0; }\n").unwrap();
    let compiled = Command::new("g++").args(["-c", "a.cpp"]).current_dir(&tree).status().unwrap();
    assert!(compiled.success());
    let text = report(directory.path(), &["tree"]);
    assert_tidy(&text, "tree");
    let (many, few) = (text.find("tree/z.so").unwrap(), text.find("tree/a.so").unwrap());
    assert!(many < few, "the most to gain comes first: {text}");
    assert!(text.contains("total of 2 objects"), "{text}");
    let kinds = section(&text, "What could be better", 1);
    assert!(kinds.contains("unpacked-relocations"), "{kinds}");
    assert!(section(&text, "Skipped", 0).contains("relocatable object"), "{text}");
    assert!(section(&text, "Other files", 0).contains("script"), "{text}");
    assert!(!text.contains("a.o"), "only counted: {text}");
    assert!(report(directory.path(), &["tree", "--all"]).contains("tree/a.o"));
}

#[test]
fn a_closure_names_every_object_once_in_order() {
    let directory = scratch();
    let text = report(directory.path(), &["--closure", "true"]);
    assert_tidy(&text, "--closure true");
    let json: Value = serde_json::from_str(&report(directory.path(), &["--closure", "true", "--json"])).unwrap();
    let objects = json["closures"][0]["objects"].as_array().unwrap();
    let list = section(&text, "In load order", 1);
    let numbered = list.lines().filter(|line| line.trim_start().starts_with(|first: char| first.is_ascii_digit()));
    assert_eq!(numbered.count(), objects.len(), "{list}");
    assert!(list.contains("the program") && list.contains("libc.so.6"), "{list}");
    assert!(text.contains("when nothing is cached"), "{text}");
}

#[test]
fn a_comparison_shows_what_changed() {
    let directory = scratch();
    build(directory.path(), "plain.so", LIBRARY, &[]);
    let things: String = (0..3_000).map(|number| format!("\"thing {number}\", ")).collect();
    let more = format!("{LIBRARY} extern \"C\" {{ const char *many[] = {{ {things} }}; }}");
    build(directory.path(), "more.so", &more, &[]);
    let text = report(directory.path(), &["plain.so", "--compare", "more.so"]);
    assert_tidy(&text, "compare");
    // What the model of reads says depends on where the linker puts things.
    let counted: String =
        text.lines().filter(|line| !line.contains("modelled")).map(|line| format!("{line}\n")).collect();
    steady(|| {
        insta::assert_snapshot!(counted, @r"
        before  more.so
        after  plain.so

          before  after  change
        size of the files  [N]  [N]  [N]  [N] %
        relocations  [N]  [N]  [N]  [N] %
        tables of relocations  [N]  [N]  [N]  [N] %
        packing would save  [N]  [N]  [N]  [N] %
        pages made private by relocation  [N]  [N]  [N]  [N] %

        unchanged: objects; symbols looked up at the start; initialisers

        Findings
          gone  unpacked-relocations
        ");
    });
    let same = report(directory.path(), &["plain.so", "--compare", "plain.so"]);
    assert!(same.contains("No figure differs."), "{same}");
}

/// ELF files of a directory, in order, every so many so that there are `count`.
fn sample(directory: &Path, count: usize) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let is_elf = |path: &PathBuf| {
        let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
        let mut magic = [0; 4];
        let read = |mut file: std::fs::File| std::io::Read::read_exact(&mut file, &mut magic);
        is_file && std::fs::File::open(path).and_then(read).is_ok() && magic == *b"\x7fELF"
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_elf(path)).collect();
    files.sort();
    let step = files.len().div_ceil(count).max(1);
    files.into_iter().step_by(step).collect()
}

#[test]
fn reports_on_real_files_are_tidy() {
    let libraries = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib/jvm/java-17-openjdk-amd64/lib/server",
    ];
    let mut files: Vec<PathBuf> = libraries.iter().flat_map(|directory| sample(Path::new(directory), 60)).collect();
    let large = ["libLLVM-14.so.1", "libLLVM-15.so.1"].map(|name| Path::new(libraries[0]).join(name));
    files.extend(large.into_iter().filter(|path| path.exists()));
    if files.is_empty() {
        return skip("no ELF files in the usual directories");
    }
    for path in files {
        for arguments in [vec![path.to_str().unwrap()], vec![path.to_str().unwrap(), "--all"]] {
            let output = inspect(Path::new("/"), &arguments);
            // Some files in these directories are nothing that is loaded.
            if output.status.success() {
                assert_tidy(&String::from_utf8(output.stdout).unwrap(), &format!("{arguments:?}"));
            }
        }
    }
}

#[test]
fn every_finding_is_explained_in_the_guide() {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/inspect.md")).unwrap();
    let help = Command::new(env!("CARGO_BIN_EXE_coldstart")).args(["inspect", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for kind in coldstart_inspect::FindingKind::ALL {
        assert!(guide.contains(&format!("| `{}` |", kind.name())), "docs/inspect.md does not explain {}", kind.name());
        assert!(help.contains(kind.name()), "--help does not name {}", kind.name());
    }
}

#[test]
fn two_directories_are_compared_object_by_object() {
    let directory = scratch();
    let folder = |name: &str| {
        let folder = directory.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    };
    let (before, after) = (folder("before"), folder("after"));
    let pointers = "int value; extern int *const table[600] = { &value, &value, &value };";
    for folder in [&before, &after] {
        build(folder, "libsame.so", "int same() { return 1; }", &[]);
    }
    build(&before, "libchanged.so", pointers, &[]);
    build(&after, "libchanged.so", "int nothing;", &[]);
    build(&before, "libold.so", "int old;", &[]);
    build(&after, "libnew.so", "int young;", &[]);
    let text = report(directory.path(), &["after", "--compare", "before"]);
    let differing: Vec<&str> = text.split("Objects that differ").nth(1).unwrap().lines().collect();
    assert!(differing[0].ends_with("3 objects"), "{text}");
    assert!(differing.iter().any(|line| line.ends_with("  after/libchanged.so") && line.contains('-')), "{text}");
    assert!(differing.iter().any(|line| line.ends_with("gone: before/libold.so")), "{text}");
    assert!(differing.iter().any(|line| line.ends_with("new: after/libnew.so")), "{text}");
    assert!(!text.contains("libsame.so"), "{text}");
}
