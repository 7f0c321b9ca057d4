//! The table in docs/index.md: each row names a test that exists.

use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../../docs/index.md");
const SOURCES: [&str; 10] = [
    include_str!("any.rs"),
    include_str!("python.rs"),
    include_str!("python_changes.rs"),
    include_str!("perl.rs"),
    include_str!("guile.rs"),
    include_str!("images.rs"),
    include_str!("ruby.rs"),
    include_str!("node.rs"),
    include_str!("places.rs"),
    include_str!("verbs.rs"),
];

#[test]
fn every_row_of_the_page_is_a_test() {
    let tests: BTreeSet<&str> = SOURCES
        .iter()
        .flat_map(|source| source.split("#[test]\nfn ").skip(1))
        .filter_map(|rest| rest.split('(').next())
        .collect();
    let rows = PAGE.split("## Circumstances").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let rows: Vec<&str> = rows
        .lines()
        .filter(|line| line.starts_with("| ") && line.ends_with("` |"))
        .filter_map(|line| line.trim_end_matches("` |").rsplit('`').next())
        .collect();
    assert!(rows.len() > 20, "the table has moved");
    let unknown: Vec<&&str> = rows.iter().filter(|row| !tests.contains(**row)).collect();
    assert!(unknown.is_empty(), "rows without a test: {unknown:?}");
    let untold: Vec<&&str> = tests.iter().filter(|test| !rows.contains(test)).collect();
    assert!(untold.is_empty(), "tests without a row: {untold:?}");
}
