//! docs/promises.md names the test that holds each promise; this holds the page to it.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

/// `crates/cli/tests/x.rs::name_of_test`, in backticks.
fn named_tests(page: &str) -> Vec<(&str, &str)> {
    let quoted = page.split('`').skip(1).step_by(2);
    quoted.filter_map(|words| words.split_once(".rs::").map(|_| words.rsplit_once("::").unwrap())).collect()
}

#[test]
fn each_promise_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/promises.md")).unwrap();
    let named = named_tests(&page);
    assert!(named.len() > 20, "the page names {} tests", named.len());
    let is_there = |(file, name): &(&str, &str)| {
        let source = fs::read_to_string(root.join(file)).unwrap_or_default();
        source.contains(&format!("fn {name}("))
    };
    let missing: Vec<String> =
        named.iter().filter(|test| !is_there(test)).map(|(file, name)| format!("{file}::{name}")).collect();
    assert!(missing.is_empty(), "docs/promises.md names tests that do not exist:\n{}", missing.join("\n"));
    let bare: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && !line.contains(".rs::")).collect();
    let headings = |line: &&str| line.contains("| held by |");
    let bare: Vec<&str> = bare.into_iter().filter(|line| !headings(line)).collect();
    assert!(bare.is_empty(), "promises without a test:\n{}", bare.join("\n"));
}
