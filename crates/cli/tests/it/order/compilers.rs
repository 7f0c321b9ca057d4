//! Names that compilers and linkers make: parts, clones, hashes of modules, merged functions, equal names in several files.

use std::collections::HashMap;

use coldstart_testing::succeed;

use super::scene::Scene;

/// A kilobyte of code that differs by number, so that it is only merged with the same number.
const BODY: &str = "volatile int sink;
#define BODY(number) do { __asm__ volatile(\".rept 1000\\n nop\\n .endr\"); sink = number; } while (0)
";

/// GCC splits off the unlikely branch, and of an inlined function all but its early return; it makes clones for one value of an
/// argument, and for an argument that is not used.
const PARTS: &str = "
struct pair { int first, second; };
struct pair pairs[4] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
void __attribute__((noinline)) idle(void) { BODY(1); }
static __attribute__((noinline)) int isra(struct pair *pair, int unused) { (void)unused; int first = pair->first; BODY(2); return first * 3; }
static __attribute__((noinline)) int constprop(int a, int b) { BODY(3); sink = a + b; return a * b + sink; }
static int part(int *p) {
  if (sink == 77) return 0;
  for (int i = 0; i < *p; i++) { sink += i; idle(); sink *= 3; sink ^= *p; sink += *p * i; }
  return sink;
}
void __attribute__((cold, noinline)) report(int x) { BODY(4); sink = x; }
__attribute__((noinline)) int cold(int x) { if (x > 1) { report(x); sink += x; sink *= x; report(x + sink); } BODY(5); return sink; }
int __attribute__((noinline)) user_1(int *p) { BODY(6); return part(p) + 1; }
int __attribute__((noinline)) user_2(int *p) { BODY(7); return part(p) + 2; }
int __attribute__((noinline)) user_3(int *p) { BODY(8); return part(p) + 3; }
int main(int count, char **words) {
  (void)words;
  sink += cold(count);
  sink += user_3(&count) + user_2(&count) + user_1(&count);
  sink += constprop(count, 7);
  sink += constprop(sink, 7);
  sink += isra(&pairs[count & 3], count);
  sink += isra(&pairs[sink & 3], sink);
  return 0;
}
";

/// Address and size of each function of a program that is there once, as `nm` has them.
fn placed(scene: &Scene, program: &str) -> HashMap<String, (u64, u64)> {
    let mut placed = HashMap::new();
    for line in succeed(scene.command("nm").args(["-S", program])).lines() {
        if let [address, size, "t" | "T", name] = line.split_whitespace().collect::<Vec<_>>()[..] {
            let number = |digits| u64::from_str_radix(digits, 16).unwrap();
            placed.insert(name.to_owned(), (number(address), number(size)));
        }
    }
    placed
}

/// Names in the list.
fn listed(scene: &Scene, list: &str) -> Vec<String> {
    let text = std::fs::read_to_string(scene.path(list)).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// Whether a program has these functions at ascending addresses; functions may be merged.
#[track_caller]
fn assert_in_order(scene: &Scene, program: &str, names: &[String]) {
    let placed = placed(scene, program);
    let missing: Vec<&String> = names.iter().filter(|name| !placed.contains_key(*name)).collect();
    assert!(missing.is_empty(), "{program} has no {missing:?}: {placed:?}");
    assert!(names.is_sorted_by_key(|name| placed[name].0), "{names:?}: {placed:?}");
}

#[test]
fn parts_and_clones_of_gcc_have_their_exact_names() {
    let scene = Scene::empty();
    scene.compile("gcc", "parts", &format!("{BODY}{PARTS}"), &["-O2"]);
    scene.link_these(&["parts"], "old", &["-fuse-ld=lld"]);
    let made: Vec<String> = placed(&scene, "old").into_keys().filter(|name| name.contains('.')).collect();
    for mark in [".part.", ".isra.", ".constprop.", ".cold"] {
        assert!(made.iter().any(|name| name.contains(mark)), "gcc made no {mark}: {made:?}");
    }
    scene.trace("usual", &["./old"]);
    scene.trace("unusual", &["./old", "argument"]);
    let words = ["--for", "lld", "--json", "-o"];
    let usual = scene.json(&[&["order", "functions", "usual"], &words[..], &["list"]].concat(), 0);
    let names = listed(&scene, "list");
    for name in &made {
        assert_eq!(names.contains(name), !name.contains(".cold"), "{name}: {names:?}");
    }
    let unstable = made.iter().filter(|name| !name.ends_with(".cold")).count() as u64;
    assert_eq!((usual["unstable_names"].as_u64(), usual["cold_parts"].as_u64()), (Some(unstable), Some(0)), "{usual}");
    scene.link_these(&["parts"], "new", &["-fuse-ld=lld", "-Wl,--symbol-ordering-file=list"]);
    assert_in_order(&scene, "new", &names);

    let unusual = scene.json(&[&["order", "functions", "unusual"], &words[..], &["list2"]].concat(), 0);
    let names = listed(&scene, "list2");
    assert_eq!((unusual["cold_parts"].as_u64(), names.last().unwrap().as_str()), (Some(1), "cold.cold"), "{names:?}");
    scene.link_these(&["parts"], "new", &["-fuse-ld=lld", "-Wl,--symbol-ordering-file=list2"]);
    assert_in_order(&scene, "new", &names);
    succeed(&mut scene.command("./new"));
}

#[test]
fn names_of_thin_lto_with_a_hash_of_the_module_are_found_again() {
    let scene = Scene::empty();
    let (mut library, mut program) = (BODY.to_owned(), String::from("int main(void) {\n  int sum = 0;\n"));
    for number in 0..8 {
        library.push_str(&format!(
            "static __attribute__((noinline)) int hidden_{number}(int x) {{ BODY({number}); return sink += x; }}\nint other_{number}(int x) {{ return hidden_{number}(x) + 1; }}\n"
        ));
        program.insert_str(0, &format!("int other_{number}(int);\n"));
        program.push_str(&format!("  sum += other_{}(sum);\n", 7 - number));
    }
    program.push_str("  return sum == 12345;\n}\n");
    for (name, source) in [("program", program), ("library", library)] {
        scene.compile("clang", name, &source, &["-O2", "-flto=thin"]);
    }
    let link = |output: &str, options: &[&str]| {
        let objects = ["-flto=thin", "-fuse-ld=lld", "program.o", "library.o", "-Wl,--build-id=sha1", "-o", output];
        succeed(scene.command("clang").args(objects).args(options));
    };
    link("old", &[]);
    scene.trace("t", &["./old"]);
    let made = scene.json(&["order", "functions", "t", "--for", "lld", "-o", "list", "--json"], 0);
    let hidden: Vec<String> = listed(&scene, "list")
        .into_iter()
        .filter(|name| name.starts_with("hidden_") && name.contains(".llvm."))
        .collect();
    let numbers: Vec<&str> = hidden.iter().filter_map(|name| name.split('.').next()).collect();
    assert_eq!(numbers, [7, 6, 5, 4, 3, 2, 1, 0].map(|number| format!("hidden_{number}")));
    assert_eq!(made["unstable_names"].as_u64(), Some(8), "{made}");
    link("new", &["-Wl,--symbol-ordering-file=list"]);
    assert_in_order(&scene, "new", &hidden);
    let before = placed(&scene, "old");
    assert!(!hidden.is_sorted_by_key(|name| before[name].0), "they were in order before: {before:?}");
    succeed(&mut scene.command("./new"));
}

#[test]
fn functions_that_lld_merged_are_listed_by_all_names() {
    let scene = Scene::empty();
    let mut source = BODY.to_owned();
    for number in 0..20 {
        // Two and two are equal.
        let body = number / 2;
        source.push_str(&format!("__attribute__((noinline)) void f_{number:02}(void) {{ BODY({body}); }}\n"));
    }
    source.push_str("int main(void) { f_18(); f_09(); f_04(); return 0; }\n");
    scene.compile("gcc", "same", &source, &["-O1", "-fno-ipa-icf"]);
    scene.link_these(&["same"], "old", &["-fuse-ld=lld", "-Wl,--icf=all"]);
    let before = placed(&scene, "old");
    assert_eq!(before["f_18"], before["f_19"], "lld merged nothing");
    scene.trace("t", &["./old"]);
    let made = scene.json(&["order", "functions", "t", "--for", "lld", "-o", "list", "--json"], 0);
    assert!(made["merged"].as_u64() >= Some(3), "{made}");
    let names: Vec<String> = listed(&scene, "list").into_iter().filter(|name| name.starts_with("f_")).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["f_04", "f_05", "f_08", "f_09", "f_18", "f_19"]);
    let options = ["-fuse-ld=lld", "-Wl,--icf=all", "-Wl,--symbol-ordering-file=list"];
    scene.link_these(&["same"], "new", &options);
    assert_in_order(&scene, "new", &names);
    assert!(names[..2].iter().all(|name| ["f_18", "f_19"].contains(&name.as_str())), "{names:?}");
    // Also where they are not merged any more.
    scene.link_these(&["same"], "apart", &["-fuse-ld=lld", "-Wl,--symbol-ordering-file=list"]);
    assert_in_order(&scene, "apart", &names);
}

#[test]
fn of_a_local_name_in_five_files_all_move_and_their_size_is_told() {
    let scene = Scene::empty();
    let files = ["f0", "f1", "f2", "f3", "f4"];
    for (number, file) in files.iter().enumerate() {
        let filler = format!("__attribute__((noinline)) void filler_{number}(void) {{ BODY(1{number}); }}\n");
        let init = format!("static __attribute__((noinline)) void init(void) {{ BODY({number}); }}\n");
        let mut source = format!("{BODY}{filler}{init}void go_{number}(void) {{ init(); }}\n")
            .replace("volatile int sink", "static volatile int sink");
        if number == 0 {
            source.push_str("int main(void) { go_0(); return 0; }\n");
        }
        scene.compile("gcc", file, &source, &["-O1", "-Wno-unused"]);
    }
    scene.link_these(&files, "old", &["-fuse-ld=lld"]);
    scene.trace("t", &["./old"]);
    let made = scene.json(&["order", "functions", "t", "--for", "lld", "-o", "list", "--json"], 0);
    assert_eq!(listed(&scene, "list").iter().filter(|name| *name == "init").count(), 1);
    let size = placed(&scene, "old")["init"].1;
    assert_eq!((made["repeated_names"].as_u64(), made["repeated_bytes"].as_u64()), (Some(1), Some(4 * size)), "{made}");
    scene.link_these(&files, "new", &["-fuse-ld=lld", "-Wl,--symbol-ordering-file=list"]);
    let listing = succeed(scene.command("nm").args(["-n", "new"]));
    let names: Vec<&str> = listing.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let last_init = names.iter().rposition(|name| *name == "init").unwrap();
    let first_filler = names.iter().position(|name| name.starts_with("filler_")).unwrap();
    assert!(names.iter().filter(|name| **name == "init").count() == 5 && last_init < first_filler, "{names:?}");
}

#[test]
fn touched_variables_come_together() {
    let scene = Scene::empty();
    let mut source = String::from("#define PAGE __attribute__((aligned(4096)))\n");
    for number in 0..64 {
        source.push_str(&format!("PAGE int set_{number:02}[1024] = {{1}};\nPAGE int zero_{number:02}[1024];\n"));
    }
    source.push_str("int main(void) {\n");
    for number in (0..64).rev().step_by(8) {
        source.push_str(&format!("  set_{number:02}[7]++; zero_{number:02}[7]++;\n"));
    }
    source.push_str("  return 0;\n}\n");
    scene.compile("gcc", "data", &source, &["-O1", "-fdata-sections"]);
    scene.link_these(&["data"], "old", &["-fuse-ld=lld"]);
    scene.trace("t", &["./old"]);
    let made = scene.json(&["order", "functions", "t", "--for", "lld", "-o", "code", "--json"], 0);
    assert_eq!(made["variables"].as_u64(), Some(0), "{made}");
    let made = scene.json(&["order", "functions", "t", "--for", "lld", "--data", "-o", "list", "--json"], 0);
    let is_ours = |name: &str| name.starts_with("set_") || name.starts_with("zero_");
    let mut touched: Vec<String> = listed(&scene, "list").into_iter().filter(|name| is_ours(name)).collect();
    touched.sort_unstable();
    let expected: Vec<String> = ["set", "zero"]
        .iter()
        .flat_map(|kind| (7..64).step_by(8).map(move |number| format!("{kind}_{number:02}")))
        .collect();
    assert_eq!(touched, expected);
    assert!(made["variables"].as_u64() >= Some(16), "{made}");
    scene.link_these(&["data"], "new", &["-fuse-ld=lld", "-Wl,--symbol-ordering-file=list"]);
    let listing = succeed(scene.command("nm").args(["-n", "new"]));
    let names: Vec<&str> = listing.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    for kind in ["set_", "zero_"] {
        let first: Vec<&str> = names.iter().copied().filter(|name| name.starts_with(kind)).take(8).collect();
        assert!(first.iter().all(|name| expected.iter().any(|other| other == name)), "{first:?}");
    }
    succeed(&mut scene.command("./new"));
}
