//! `pack --passes`: references to a file's own definitions are bound where nothing takes them over, each pass has an outcome of
//! its own, and one verb undoes all. The loader itself says what was looked up, and where it was found.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use coldstart_testing::compile;

use super::scene::{bytes, done, json, said, scratch};

/// A library with many references to its own functions and variables, and some that others take over: `call` is defined by
/// the program, `copied` is copied into it, `early` is preloaded. `-z now`, so that its calls are looked up at start-up.
fn library(path: &Path) {
    let mut source = String::from(
        "int call(void) { return 1; } int copied = 2; int early(void) { return 3; } __thread int of_thread = 4;\n\
         extern int nowhere(void) __attribute__((weak));\n\
         void *_Znwm(unsigned long size) { return size ? &copied : 0; } void *(*allocate)(unsigned long) = _Znwm;\n\
         int (*others[])(void) = { call, early, nowhere }; int *data[] = { &copied };\n",
    );
    let names = 0..400;
    for name in names.clone() {
        source += &format!("int v{name} = {name}; int f{name}(void) {{ return v{name} + call() - call(); }}\n");
    }
    let list = |prefix: &str| names.clone().map(|name| format!("{prefix}{name},")).collect::<String>();
    let calls: String = names.clone().map(|name| format!("+ f{name}()")).collect();
    source += &format!(
        "int *vars[] = {{ {} }}; int (*functions[])(void) = {{ {} }};\n\
         int same(int (*other)(void)) {{ return other == functions[7]; }}\n",
        list("&v"),
        list("f")
    );
    source += &format!(
        "int sum(void) {{ int sum = 0 {calls}; for (int i = 0; i < 400; i++) sum += *vars[i] + functions[i]();\n\
         return sum + others[0]() * 1000000 + others[1]() * 10000000 + (nowhere != 0) + of_thread + (data[0] == &copied); }}\n"
    );
    compile("gcc", path, &source, &["-O1", "-fPIC", "-shared", "-Wl,-z,now,-soname,libown.so"]);
}

const MAIN: &str = "#include <stdio.h>\nint sum(void); int same(int (*)(void)); int call(void) { return 5; }\n\
    extern int copied; int f7(void);\n\
    int main(void) { int (*volatile seven)(void) = f7; printf(\"%d %d %d\\n\", sum(), copied, same(seven)); }\n";

/// A program that takes `call` over, and by its kind `copied` and the address of `f7`, too.
fn program(path: &Path, options: &[&str]) {
    let directory = format!("-L{}", path.parent().unwrap().display());
    let link = ["-rdynamic", "-O0", &directory, "-lown", "-Wl,-rpath,$ORIGIN"];
    compile("gcc", path, MAIN, &[&link, options].concat());
}

/// What a program prints.
fn prints(program: &Path) -> String {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}: {output:?}", program.display());
    String::from_utf8(output.stdout).unwrap()
}

/// What the loader found where: the file that asked, the file that has it, the name.
fn bindings(program: &Path) -> BTreeSet<(String, String, String)> {
    let output = Command::new(program).env("LD_DEBUG", "bindings").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let name = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    let line = |line: &str| {
        let (_, rest) = line.split_once("binding file ")?;
        let (from, rest) = rest.split_once(" [0] to ")?;
        let (to, rest) = rest.split_once(" [0]: ")?;
        Some((name(from)?, name(to)?, rest.split('`').nth(1)?.trim_end_matches('\'').to_owned()))
    };
    let found: BTreeSet<_> = text.lines().filter_map(line).collect();
    assert!(!found.is_empty(), "{text}");
    found
}

/// Moves a file in another one's place, which the loader may have open.
fn exchange(directory: &Path, from: &str, to: &str) {
    std::fs::rename(directory.join(from), directory.join(to)).unwrap();
}

#[test]
fn in_a_closed_world_only_what_nothing_takes_over_is_bound() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    library(&at("libown.so"));
    // One with an address of its own for `f7`, and one without.
    let kinds: [(&[&str], &[&str]); 2] =
        [(&["-fno-pic", "-no-pie"], &["call", "copied", "f7"]), (&["-fPIE", "-pie"], &["call", "copied"])];
    for (kind, kept) in kinds {
        program(&at("main"), kind);
        let before = (prints(&at("main")), bindings(&at("main")), bytes(&at("libown.so")));
        let words = ["pack", "--passes", "all-safe", "--closed-world", "main", "libown.so", "-o", "new.so", "--json"];
        let (code, report) = json(directory.path(), &words);
        let summary = &report["files"][0]["summary"];
        assert_eq!(
            (code, summary["own_references"]["in_closed_world"].as_u64().unwrap() > 1500),
            (0, true),
            "{report}"
        );
        let outcomes: Vec<_> = summary["passes"].as_array().unwrap().iter().map(|pass| &pass["outcome"]).collect();
        assert_eq!(outcomes, ["done", "nothing", "done"], "{report}");
        assert_eq!(summary["bound"], report["files"][0]["proof"]["bound_references"], "{report}");

        std::fs::copy(at("libown.so"), at("old.so")).unwrap();
        exchange(directory.path(), "new.so", "libown.so");
        assert_eq!(prints(&at("main")), before.0, "{kind:?}");
        let after = bindings(&at("main"));
        assert!(after.is_subset(&before.1), "{kind:?}: {:?}", after.difference(&before.1).collect::<Vec<_>>());
        for (from, to, name) in before.1.difference(&after) {
            assert!(from == "libown.so" && to == from, "{kind:?}: `{name}` of {from} was found in {to}");
        }
        let looked_up: BTreeSet<&str> =
            after.iter().filter(|(from, ..)| from == "libown.so").map(|(.., name)| name.as_str()).collect();
        for name in kept {
            assert!(looked_up.contains(name), "{kind:?}: {name} in {looked_up:?}");
        }
        assert_eq!(looked_up.contains("f7"), kept.contains(&"f7"), "{kind:?}");
        // A preloaded library may replace it, whatever the world is.
        assert!(looked_up.contains("_Znwm"), "{kind:?}: {looked_up:?}");
        assert!(!looked_up.contains("f8") && !looked_up.contains("v8"), "{kind:?}: {looked_up:?}");

        // Proven with and without the original, and undone byte for byte.
        assert!(done(directory.path(), &["verify", "libown.so"]).contains("to its own definitions"));
        done(directory.path(), &["verify", "libown.so", "--against", "old.so"]);
        let status = done(directory.path(), &["status", "libown.so"]);
        assert!(status.contains("packed (bind-local, relr)") && status.contains("/main` only"), "{status}");
        done(directory.path(), &["unpack", "--in-place", "libown.so"]);
        assert!(bytes(&at("libown.so")) == before.2, "{kind:?}");
    }
}

/// Preloaded objects come first, and what is opened later may.
#[test]
fn preloads_and_what_a_trace_has_seen_count() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    library(&at("libown.so"));
    let early = "int early(void) { return 9; }";
    compile("gcc", &at("early.so"), early, &["-shared", "-fPIC"]);
    let main = "#include <dlfcn.h>\n#include <stdio.h>\nint main(void) {\n\
        if (!dlopen(\"./early.so\", RTLD_NOW | RTLD_GLOBAL)) return 1;\n\
        void *own = dlopen(\"./libown.so\", RTLD_NOW); if (!own) return 2;\n\
        printf(\"%d\\n\", ((int (*)(void))dlsym(own, \"sum\"))()); }\n";
    compile("gcc", &at("opens"), main, &[]);
    program(&at("main"), &[]);
    let pack = |world: &str, preload: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.current_dir(directory.path()).env("LD_PRELOAD", preload);
        command.args(["pack", "--json", "--force", "--passes", "all-safe", "--closed-world", world]);
        let output = command.args(["libown.so", "-o", "new.so"]).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (report["files"][0]["summary"]["bound"].as_u64(), report)
    };
    let (Some(all), _) = pack("main", "") else { panic!("nothing is bound") };
    // A reference in the table, and none else.
    let preload = at("early.so").display().to_string();
    assert_eq!(pack("main", &preload).0, Some(all - 1));

    // The program's own file does not say what it opens; a trace of a start does.
    let (bound, report) = pack("opens", "");
    assert_eq!((bound, &report["files"][0]["nothing"]["reason"]), (None, &"not-in-closed-world".into()), "{report}");
    done(directory.path(), &["trace", "-o", "opens.coldtrace", "--", "./opens"]);
    let (bound, report) = pack("opens.coldtrace", "");
    // Here nothing takes over `call` and `copied`, which `main` does.
    assert!(bound.is_some_and(|bound| bound > all), "{bound:?}, {all}: {report}");
    let before = run_in(directory.path(), "./opens");
    exchange(directory.path(), "new.so", "libown.so");
    assert_eq!(run_in(directory.path(), "./opens"), before);
    assert!(before.trim_end().ends_with('5') && before.len() > 7, "{before}");
}

fn run_in(directory: &Path, program: &str) -> String {
    let output = Command::new(program).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// References to pure virtual functions alone, without a closed world: `verify` knows of the jump from the note.
#[test]
fn pure_virtual_functions_are_a_pass_of_their_own() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    let source = "template <int N> struct Part { int own; Part() : own(N) {} virtual int one() = 0; virtual ~Part() {} };\n\
        template <int N> struct Whole : Part<N> { int one() override { return this->own; } };\n\
        template <int N> int all() { Whole<N> whole; Part<N> *seen = &whole; return seen->one() + all<N - 1>(); }\n\
        template <> int all<0>() { return 0; }\nint sum() { return all<50>(); }\n";
    compile("g++", &at("lib.so"), source, &["-O2", "-fno-inline", "-fPIC", "-shared"]);
    let original = bytes(&at("lib.so"));
    let words = ["pack", "--passes", "pure-virtual", "lib.so", "-o", "new.so"];
    let (code, report) = json(directory.path(), &[words.as_slice(), &["--json"]].concat());
    let summary = &report["files"][0]["summary"];
    assert_eq!((code, summary["passes"].as_array().map(Vec::len)), (0, Some(1)), "{report}");
    assert_eq!(summary["passes"][0]["relocations"], 49, "{report}");
    assert_eq!(report["files"][0]["proof"]["pure_virtual_references"], 49, "{report}");
    let (code, verified) = json(directory.path(), &["verify", "--json", "new.so"]);
    assert_eq!((code, &verified["proof"]["pure_virtual_references"]), (0, &49.into()), "{verified}");
    let (code, against) = json(directory.path(), &["verify", "--json", "new.so", "--against", "lib.so"]);
    assert_eq!((code, &against["same"]), (0, &true.into()), "{against}");
    done(directory.path(), &["unpack", "--in-place", "new.so"]);
    assert!(bytes(&at("new.so")) == original);
}

/// RELR is refused, and the references are bound in their own table.
#[test]
fn what_one_pass_refuses_still_gets_the_others() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    library(&at("libown.so"));
    program(&at("main"), &[]);
    let (before, original) = (prints(&at("main")), bytes(&at("libown.so")));
    let world = ["--passes", "all-safe", "--closed-world", "main", "--min-libc", "2.35"];
    let words = [&["pack"], world.as_slice(), &["libown.so", "-o", "new.so"]].concat();
    let (code, report) = json(directory.path(), &[words.as_slice(), &["--json"]].concat());
    let summary = &report["files"][0]["summary"];
    assert_eq!((code, &summary["room"], &summary["packed"]), (0, &"unchanged".into(), &0.into()), "{report}");
    assert_eq!(summary["passes"][0]["outcome"], "done", "{report}");
    assert_eq!(summary["passes"][2]["outcome"], "refused", "{report}");
    assert_eq!(summary["passes"][2]["code"], "loader-too-old", "{report}");
    let text = done(directory.path(), &[words.as_slice(), &["--force"]].concat());
    assert!(text.contains("refused: the loader of glibc-2.35") && text.contains("relative, in their table"), "{text}");
    let found = bindings(&at("main"));
    exchange(directory.path(), "new.so", "libown.so");
    assert_eq!(prints(&at("main")), before);
    let after = bindings(&at("main"));
    assert!(after.is_subset(&found) && after.len() + 700 < found.len(), "{} of {}", after.len(), found.len());
    done(directory.path(), &["verify", "libown.so"]);
    done(directory.path(), &["unpack", "--in-place", "libown.so"]);
    assert!(bytes(&at("libown.so")) == original);

    // Alone, RELR is refused as ever, and so is a pass that finds nothing.
    let (code, _, error) = said(directory.path(), &["pack", "--min-libc", "2.35", "libown.so", "-o", "new.so"]);
    assert!(code == 1 && error.contains("2.35"), "{error}");
    let text = done(directory.path(), &["pack", "--passes", "bind-local", "libown.so", "-o", "copy.so"]);
    assert!(text.contains("no reference to its own definitions can become relative"), "{text}");
    assert!(bytes(&at("copy.so")) == original);
}

/// A world that has changed shows in `verify`.
#[test]
fn a_program_that_takes_more_over_is_found_out() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    library(&at("libown.so"));
    program(&at("main"), &[]);
    done(directory.path(), &["pack", "--passes", "all-safe", "--closed-world", "main", "--in-place", "libown.so"]);
    done(directory.path(), &["verify", "libown.so"]);
    let also = MAIN.replacen("int call(void)", "int f8(void) { return 8; } int call(void)", 1);
    let link = format!("-L{}", directory.path().display());
    compile("gcc", &at("main"), &also, &["-rdynamic", &link, "-lown", "-Wl,-rpath,$ORIGIN"]);
    let (code, text, error) = said(directory.path(), &["verify", "libown.so"]);
    assert!(code == 1 && text.contains("relocation"), "{text}{error}");
    std::fs::remove_file(at("main")).unwrap();
    let (code, _, error) = said(directory.path(), &["verify", "libown.so"]);
    assert!(code == 2 && error.contains("main"), "{error}");
}

#[test]
fn passes_are_listed_and_others_are_unknown() {
    let directory = scratch();
    let text = done(directory.path(), &["pack", "--list-passes"]);
    for words in ["\nbind-local\n", "\nlower-alignment\n", "\nrelr\n", "\nstub\n", "STB_GNU_UNIQUE"] {
        assert!(text.contains(words), "{text}");
    }
    let (code, _, error) = said(directory.path(), &["pack", "--passes", "relr,prelink", "a.so", "--dry-run"]);
    assert!(code == 2 && error.contains("no pass `prelink`"), "{error}");
    let (code, _, error) = said(directory.path(), &["pack", "--passes", "lower-alignment", "a.so", "--dry-run"]);
    assert!(code == 2 && error.contains("does nothing alone: add `relr` or `stub`"), "{error}");
    compile("gcc", &directory.path().join("a.so"), "int x;", &["-shared"]);
    let words = ["pack", "--passes", "all-safe", "--closed-world", "absent", "a.so", "--dry-run"];
    let (code, _, error) = said(directory.path(), &words);
    assert!(code == 2 && error.contains("`absent`"), "{error}");
    let (code, _, error) = said(directory.path(), &["pack", "--closed-world", "/bin/true", "a.so", "--dry-run"]);
    assert!(code == 0 && error.contains("among the --passes"), "{error}");
}

#[test]
fn a_library_relocates_itself_for_old_loaders() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let pointers = "static int n[2048];\n#define P(i) &n[i], &n[i + 1], &n[i + 2], &n[i + 3]\n#define Q(i) P(i), P(i + 9), P(i + 20), P(i + 30)\n\
                    #define R(i) Q(i), Q(i + 99), Q(i + 200), Q(i + 300), Q(i + 400), Q(i + 500), Q(i + 600), Q(i + 700)\n\
                    static int *const all[] = { R(0), R(1), R(2), R(3), R(4), R(5), R(6), R(7) };\n\
                    long sum(void) { long s = 0; for (int i = 0; i < 1024; i++) s = s * 3 + (all[i] - n); return s; }";
    let no_relr = "-Wl,-z,nopack-relative-relocs";
    compile(
        "gcc",
        &at("libpointers.so"),
        pointers,
        &["-O1", "-fPIC", "-shared", "-Wl,-soname,libpointers.so", no_relr],
    );
    let link = format!("-L{}", directory.path().display());
    let program = "#include <stdio.h>\nlong sum(void);\nint main(void) { printf(\"%ld\\n\", sum()); }";
    compile("gcc", &at("main"), program, &[&link, "-lpointers", "-Wl,-rpath,$ORIGIN", no_relr]);
    let ran = || std::process::Command::new(at("main")).output().unwrap();
    let (before, original) = (ran(), std::fs::read(at("libpointers.so")).unwrap());
    assert!(before.status.success());
    let text = done(directory.path(), &["pack", "--passes", "stub", "--in-place", "libpointers.so"]);
    assert!(text.contains("DT_INIT") && !text.contains("RELR"), "{text}");
    assert_eq!(ran(), before);
    done(directory.path(), &["verify", "libpointers.so"]);
    let (code, text, _) = said(directory.path(), &["pack", "--passes", "stub", "--in-place", "libpointers.so"]);
    assert_eq!(code, 0, "{text}");
    done(directory.path(), &["unpack", "--in-place", "libpointers.so"]);
    assert!(std::fs::read(at("libpointers.so")).unwrap() == original);
    let (code, _, error) = said(directory.path(), &["pack", "--passes", "stub", "--dry-run", "main"]);
    assert!(code == 1 && error.contains("cannot relocate itself"), "{error}");
    let (code, _, error) = said(directory.path(), &["pack", "--passes", "relr,stub", "--dry-run", "main"]);
    assert!(code == 2 && error.contains("do not go together"), "{error}");
}
