//! The table of modes in docs/bind.md: a row for each circumstance, a column for each mode.

use std::path::Path;

pub(crate) const MODES: [&str; 4] = ["soname", "absolute", "origin", "audit"];

/// The rows, as the tests of this name find them.
const ROWS: [&str; 13] = [
    "LD_LIBRARY_PATH replaces a library",
    "LD_PRELOAD of a needed library",
    "set-user-ID program started by an ordinary user",
    "moving the whole tree",
    "processor levels",
    "dlopen by plain name",
    "dlopen by $ORIGIN",
    "a library upgraded in place",
    "a library is removed",
    "two names for one file",
    "musl",
    "RPATH programs",
    "child processes",
];

/// The rows of the table as they stand in the page.
fn rows() -> Vec<Vec<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bind.md");
    let page = std::fs::read_to_string(page).unwrap();
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect()
    };
    let mut lines = page.lines().map(cells).skip_while(|cells| cells.get(1..) != Some(&MODES.map(str::to_owned)));
    assert!(lines.next().is_some(), "docs/bind.md has no table of modes");
    lines.skip(1).take_while(|cells| cells.len() == 1 + MODES.len()).collect()
}

/// Holds what was seen in each mode against the row of the page.
pub(crate) fn holds(row: &str, seen: [&str; 4]) {
    assert!(ROWS.contains(&row), "{row}: enter it in ROWS");
    let rows = rows();
    let said = rows.iter().find(|cells| cells[0] == row).unwrap_or_else(|| panic!("docs/bind.md has no row `{row}`"));
    assert_eq!(said[1..], seen.map(str::to_owned), "docs/bind.md, row `{row}`: left what it says, right what was seen");
}

#[test]
fn the_page_has_a_row_for_each_test() {
    let names: Vec<String> = rows().iter().map(|cells| cells[0].clone()).collect();
    assert_eq!(names, ROWS);
}
