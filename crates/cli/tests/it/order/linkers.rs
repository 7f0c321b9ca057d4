//! Lists as each linker takes them.

use coldstart_testing::{is_there, skip, succeed};

use super::scene::{Scene, called, is_numbered};

#[test]
fn lld_places_what_a_stripped_start_calls_on_fewer_pages() {
    let scene = Scene::new("gcc", &[]);
    scene.link("old", &["-fuse-ld=lld"]);
    succeed(scene.command("strip").args(["-o", "stripped", "old"]));
    scene.trace("t", &["./stripped"]);
    scene.trace("part", &["./stripped", "part"]);
    let made = scene.json(&["order", "functions", "t", "--symbols", "old", "--for", "lld", "-o", "list", "--json"], 0);
    assert!(made["functions"].as_u64().unwrap() >= called().len() as u64 + 5, "{made}");
    assert_eq!((made["repeated_names"].as_u64(), made["unnamed"].as_u64()), (Some(1), Some(0)), "{made}");
    let list = std::fs::read_to_string(scene.path("list")).unwrap();
    let listed: Vec<&str> = list.lines().filter(|line| is_numbered(line)).collect();
    assert_eq!(listed, called());
    assert!(list.contains("\na_alias\n") && list.lines().filter(|line| *line == "shared").count() == 1, "{list}");

    scene.link("new", &["-fuse-ld=lld", "-Wl,--symbol-ordering-file=list"]);
    assert_eq!(scene.functions("new")[..called().len()], called());
    scene.json(
        &["order", "functions", "t", "--symbols", "old", "--for", "lld", "--order", "random", "-o", "any", "--json"],
        0,
    );
    scene.link("control", &["-fuse-ld=lld", "-Wl,--symbol-ordering-file=any"]);
    let words =
        ["order", "check", "list", "--before", "old", "--trace", "t", "--held-out", "part", "--json", "--after"];
    let checked = scene.json(&[&words[..], &["new", "--control", "control", "--", "{}"]].concat(), 0);
    let pages = |side: &str| checked["observed"][side].as_u64().unwrap();
    assert!(pages("after") * 2 <= pages("before") && pages("after") < pages("control"), "{checked}");
    for start in checked["predicted"].as_array().unwrap() {
        assert!(start["after"].as_u64().unwrap() < start["before"].as_u64().unwrap(), "{checked}");
    }
    assert_eq!(checked["predicted"][0]["before"].as_u64(), Some(pages("before")), "{checked}");
    assert!(checked["predicted"][0]["after"].as_u64().unwrap().abs_diff(pages("after")) <= 1, "{checked}");
    assert_eq!((checked["removed"].as_u64(), checked["predicted"][1]["held_out"].as_bool()), (Some(0), Some(true)));

    let same = scene.json(&[&words[..], &["old"]].concat(), 1);
    assert!(!same["gain"].as_bool().unwrap() && same["reasons"].as_array().unwrap().len() == 2, "{same}");
}

#[test]
fn gnu_ld_takes_names_of_sections_in_its_own_script() {
    let scene = Scene::new("gcc", &[]);
    scene.link("old", &["-fuse-ld=bfd", "-Wl,-Map=map"]);
    scene.trace("t", &["./old"]);
    let script = succeed(scene.command("gcc").args(["-fuse-ld=bfd", "-Wl,--verbose", "a.o", "b.o", "-o", "unused"]));
    std::fs::write(scene.path("own"), script).unwrap();
    let words = ["order", "functions", "t", "--for", "ld", "--json", "-o"];
    for (output, sections) in
        [("by-map", &["--map", "map"][..]), ("by-objects", &["--objects", "a.o", "--objects", "b.o"])]
    {
        let made = scene.json(&[&words[..], &[output, "--script", "own"], sections].concat(), 0);
        assert!(made["lines"].as_u64().unwrap() >= called().len() as u64, "{made}");
        // The C library's start files.
        assert!(made["cannot_move_bytes"].as_u64().unwrap() > 0, "{made}");
        scene.link("new", &["-fuse-ld=bfd", &format!("-Wl,-T,{output}")]);
        assert_eq!(scene.functions("new")[..called().len()], called(), "{output}");
        succeed(&mut scene.command("./new"));
    }
    scene.json(&[&words[..], &["fragment", "--map", "map"]].concat(), 0);
    let fragment = std::fs::read_to_string(scene.path("fragment")).unwrap();
    assert!(fragment.contains(".text : {\n  *(.text.") && fragment.contains("  *(.text.b_190)\n"), "{fragment}");
    let version = succeed(scene.command("ld.bfd").arg("--version"));
    if takes_fragments(&version) {
        scene.link("by-fragment", &["-fuse-ld=bfd", "-Wl,--section-ordering-file=fragment"]);
        assert_eq!(scene.functions("by-fragment")[..called().len()], called());
    } else {
        println!("the fragment is not linked with, because this is {}", version.lines().next().unwrap_or_default());
    }
    scene.refused(&["order", "functions", "t", "--for", "ld", "-o", "x"], "names of sections");
    let words = ["order", "functions", "t", "--for", "ld", "-o", "x", "--map"];
    scene.refused(&[&words[..], &["own"]].concat(), "a linker script, not the map");
    scene.refused(&[&words[..], &["fragment"]].concat(), "a linker script, not the map");
    scene.refused(&[&words[..], &["a.c"]].concat(), "not a map of GNU ld");
    scene.refused(&[&words[..], &["map", "--script", "fragment"]].concat(), "no `SECTIONS { ... }`");
    scene.refused(&["order", "functions", "fragment", "--for", "lld", "-o", "x"], "fragment");

    // Whole scripts, fragments and lists of sections are checked as lists of symbols are.
    let sections: Vec<String> =
        called().iter().map(|name| format!(".text.{name}")).chain([".text.startup.main".to_owned()]).collect();
    std::fs::write(scene.path("sections"), sections.join("\n")).unwrap();
    for list in ["by-map", "fragment", "sections"] {
        let words = ["order", "check", list, "--before", "old", "--after", "new", "--trace", "t", "--json"];
        let checked = scene.json(&words, 0);
        assert!(checked["gain"].as_bool().unwrap(), "{list}: {checked}");
        assert_eq!(checked["found"], checked["listed"], "{list}: {checked}");
        let [before, after] = [0, 1].map(|side| checked["longest_run"][side].as_u64().unwrap());
        assert!(before < 30 && after >= called().len() as u64, "{list}: {checked}");
        let same = scene.json(&["order", "check", list, "--before", "old", "--after", "old", "--json"], 1);
        assert!(same["reasons"].as_array().unwrap().len() == 1, "{list}: {same}");
    }
    let check = ["--before", "old", "--after", "new"];
    for (list, reason) in [("own", "names no section of one function"), ("old", "a program"), ("t", "a trace")] {
        scene.refused(&[&["order", "check", list][..], &check].concat(), reason);
    }
}

#[test]
fn bolt_takes_the_list() {
    let Some(bolt) = ["llvm-bolt-19", "llvm-bolt"].into_iter().find(|name| is_there(name)) else {
        return skip("needs BOLT");
    };
    let scene = Scene::new("gcc", &["-fno-reorder-blocks-and-partition"]);
    scene.link("old", &["-fuse-ld=bfd", "-Wl,--emit-relocs", "-no-pie"]);
    scene.trace("t", &["./old"]);
    scene.json(&["order", "functions", "t", "--for", "bolt", "-o", "list", "--json"], 0);
    let options = ["old", "-o", "new", "--reorder-functions=user", "--function-order=list"];
    succeed(scene.command(bolt).args(options));
    assert_eq!(scene.functions("new")[..called().len()], called());
    succeed(&mut scene.command("./new"));
}

/// Whether GNU ld of this version has `--section-ordering-file`: 2.43 and later.
fn takes_fragments(version: &str) -> bool {
    let number = version.lines().next().and_then(|line| line.split_whitespace().next_back()).unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (2, 43)
}
