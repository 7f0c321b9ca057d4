//! A program with 200,000 functions, 4,000 of which a start calls. In assembly of x86-64.

use std::fmt::Write;
use std::time::{Duration, Instant};

use coldstart_testing::succeed;

use super::scene::Scene;

const ALL: usize = 200_000;
const CALLED: usize = 4_000;
/// For a build with checks on a busy machine: what grows with the square of the functions takes hours.
const QUICK: Duration = Duration::from_secs(60);

/// The functions that are called, the last one first.
fn called() -> impl Iterator<Item = usize> {
    (0..ALL).rev().step_by(ALL / CALLED)
}

#[test]
fn a_program_with_200_000_functions_is_ordered_and_checked_quickly() {
    let scene = Scene::empty();
    let mut code = String::from(".cfi_sections .eh_frame\n");
    for number in 0..ALL {
        writeln!(code, ".section .text.f{number},\"ax\"\n.globl f{number}\n.type f{number},@function\nf{number}: .cfi_startproc\n.nops 60\nret\n.cfi_endproc\n.size f{number},.-f{number}").unwrap();
    }
    code.push_str(".section .text.main,\"ax\"\n.globl main\n.type main,@function\nmain: .cfi_startproc\nsub $8,%rsp\n");
    for number in called() {
        writeln!(code, "call f{number}").unwrap();
    }
    code.push_str("add $8,%rsp\nxor %eax,%eax\nret\n.cfi_endproc\n.size main,.-main\n.section .note.GNU-stack,\"\"\n");
    std::fs::write(scene.path("all.s"), code).unwrap();
    succeed(scene.command("as").args(["all.s", "-o", "all.o"]));
    scene.link_these(&["all"], "old", &["-fuse-ld=lld"]);
    scene.trace("t", &["./old"]);
    let begun = Instant::now();
    let made = scene.json(&["order", "functions", "t", "--for", "lld", "-o", "list", "--json"], 0);
    assert!(begun.elapsed() < QUICK, "{:?}", begun.elapsed());
    assert!(made["functions"].as_u64() > Some(CALLED as u64), "{made}");
    let list = std::fs::read_to_string(scene.path("list")).unwrap();
    let numbered: Vec<usize> = list.lines().filter_map(|line| line.strip_prefix('f')?.parse().ok()).collect();
    assert_eq!(numbered, called().collect::<Vec<_>>());
    scene.link_these(&["all"], "new", &["-fuse-ld=lld", "-Wl,--symbol-ordering-file=list"]);
    let begun = Instant::now();
    let words = ["order", "check", "list", "--before", "old", "--after", "new", "--trace", "t", "--json"];
    let checked = scene.json(&words, 0);
    assert!(begun.elapsed() < QUICK, "{:?}", begun.elapsed());
    assert!(checked["same"].as_u64() >= Some(ALL as u64), "{checked}");
    let pages = |name: &str| checked["predicted"][0][name].as_u64().unwrap();
    // 64 functions lie on a page: of every 50th, each on a page of its own.
    assert!(pages("before") > 2500 && pages("after") < 200, "{checked}");
}
