//! Two sets of figures side by side: before, after, and the changed findings.

use coldstart_inspect::{Figure, Figures, FindingKind};

use super::text::{cut, fact, prose};
use crate::output::size::{bytes, grouped};
use crate::output::style::HEADING;
use crate::output::table::{Align, Table};

/// Columns for each of the two names.
const NAME: usize = 44;

/// Compares an inspection with another one, used as "before". Names are already escaped.
pub(in super::super) fn compare(
    name: &str,
    figures: &Figures,
    other_name: &str,
    other: &Figures,
    gone: &[FindingKind],
    new: &[FindingKind],
) -> String {
    let mut text = format!("{HEADING}before{HEADING:#}  {}\n", cut(other_name, 2 * NAME));
    text.push_str(&format!("{HEADING}after{HEADING:#}   {}\n", cut(name, 2 * NAME)));
    let both: Vec<(Figure, Figure)> = other.list().into_iter().zip(figures.list()).collect();
    let changed: Vec<&(Figure, Figure)> = both.iter().filter(|(before, after)| before.value != after.value).collect();
    text.push('\n');
    if changed.is_empty() {
        text.push_str("No figure differs.\n");
    } else {
        text.push_str(&table(&changed));
        let same: Vec<&str> = both
            .iter()
            .filter(|(before, after)| before.value == after.value && before.value > 0)
            .map(|(before, _)| before.name)
            .collect();
        if !same.is_empty() {
            text.push_str(&format!("\n{}", prose(&format!("unchanged: {}", same.join("; ")), 0, 2)));
        }
    }
    let kinds = |kinds: &[FindingKind]| kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    if !gone.is_empty() || !new.is_empty() {
        text.push_str(&format!("\n{HEADING}Findings{HEADING:#}\n"));
        text.push_str(&fact("gone", &kinds(gone)));
        text.push_str(&fact("new", &kinds(new)));
    }
    text
}

fn table(changed: &[&(Figure, Figure)]) -> String {
    let mut rows = Table::new(&[
        ("", Align::Left),
        ("before", Align::Right),
        ("after", Align::Right),
        ("change", Align::Right),
        ("", Align::Right),
    ]);
    for (before, after) in changed {
        let shown = |value: u64| if before.is_bytes { bytes(value) } else { grouped(value) };
        let sign = if after.value > before.value { "+" } else { "-" };
        rows.row(vec![
            before.name.to_owned(),
            shown(before.value),
            shown(after.value),
            format!("{sign}{}", shown(after.value.abs_diff(before.value))),
            relative(before.value, after.value),
        ]);
    }
    rows.render()
}

/// The change in tenths of a percent, rounded towards zero so that it is not overstated.
fn relative(before: u64, after: u64) -> String {
    if before == 0 {
        return "new".to_owned();
    }
    if after == 0 {
        return "-100 %".to_owned();
    }
    let sign = if after > before { "+" } else { "-" };
    let tenths = u128::from(after.abs_diff(before)) * 1000 / u128::from(before);
    if tenths == 0 {
        return format!("{sign}<0.1 %");
    }
    format!("{sign}{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_never_overstated() {
        assert_eq!(relative(1000, 0), "-100 %");
        assert_eq!(relative(100_000, 1), "-99.9 %");
        assert_eq!(relative(3, 2), "-33.3 %");
        assert_eq!(relative(2, 3), "+50.0 %");
        assert_eq!(relative(0, 3), "new");
        assert_eq!(relative(1_000_000, 1_000_001), "+<0.1 %");
        assert_eq!(relative(u64::MAX, 1), "-99.9 %");
    }

    #[test]
    fn only_what_differs_has_a_row() {
        let before = Figures { objects: 1, relocations: 2000, relocation_bytes: 48_000, ..Figures::default() };
        let after = Figures { objects: 1, relocations: 2000, relocation_bytes: 800, ..Figures::default() };
        let text = compare("new.so", &after, "old.so", &before, &[FindingKind::UnpackedRelocations], &[]);
        let text = text.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
        insta::assert_snapshot!(text, @r"
        before  old.so
        after   new.so

                                before  after    change
        tables of relocations  48.0 kB  800 B  -47.2 kB  -98.3 %

        unchanged: objects; relocations

        Findings
          gone       unpacked-relocations
        ");
    }

    #[test]
    fn two_equal_files_are_equal() {
        let text = compare("a", &Figures::default(), "b", &Figures::default(), &[], &[]);
        assert!(text.contains("No figure differs"), "{text}");
    }
}
