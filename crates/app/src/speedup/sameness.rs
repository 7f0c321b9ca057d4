//! Whether a program behaves the same with a fix, by the exit status and output of its starts. Pure functions.
//!
//! A difference counts against the fix only if starts without it do not differ in the same way. So several starts of each are
//! compared, and if starts without the fix differ, only their common parts are.

use std::collections::{BTreeMap, HashMap};

/// One start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// How it ended: "exited with code 0".
    pub(crate) end: String,
    /// What it printed.
    pub(crate) output: Vec<u8>,
    /// It was ended by the measurement, so its output may be cut.
    pub(crate) was_cut: bool,
    /// What the user's check of its work said; `None` without a check.
    pub(crate) check: Option<Checked>,
}

/// The answer of the user's check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// It exited with code 0.
    Holds,
    Fails,
    /// It did not end in time.
    Unfinished,
}

/// The result of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sameness {
    /// A difference that occurs only with the fix.
    pub(crate) differs: bool,
    /// The comparisons as clauses.
    pub(crate) findings: Vec<String>,
    /// What is unknown because the program itself varies, as clauses.
    pub(crate) unchecked: Vec<String>,
}

/// Compares starts without the fix and with it.
pub(crate) fn compare(plain: &[Start], fixed: &[Start]) -> Sameness {
    let mut found = Sameness::default();
    compare_ends(plain, fixed, &mut found);
    compare_checks(fixed, &mut found);
    let mut by_end: BTreeMap<&str, [Vec<&Start>; 2]> = BTreeMap::new();
    for (side, starts) in [plain, fixed].into_iter().enumerate() {
        for start in starts {
            if let Some(of_side) = by_end.entry(&start.end).or_default().get_mut(side) {
                of_side.push(start);
            }
        }
    }
    let several = by_end.len() > 1;
    for (end, [plain, fixed]) in by_end.into_iter().filter(|(_, [plain, fixed])| !plain.is_empty() && !fixed.is_empty())
    {
        let when = if several { format!(" where it {end}") } else { String::new() };
        compare_outputs(&plain, &fixed, &when, &mut found);
    }
    found
}

fn compare_ends(plain: &[Start], fixed: &[Start], found: &mut Sameness) {
    let is_plain = |start: &Start| plain.iter().any(|other| other.end == start.end);
    let varies = plain.windows(2).any(|pair| matches!(pair, [one, other] if one.end != other.end));
    match (varies, fixed.iter().all(is_plain)) {
        (false, true) => found.findings.push(format!("the program {} with and without it", ends(plain))),
        (false, false) => {
            found.differs = true;
            found.findings.push(format!("the program {} without it, but with it {}", ends(plain), ends(fixed)));
        }
        (true, _) if !fixed.iter().any(is_plain) => {
            found.differs = true;
            found.findings.push(format!(
                "the program ends in several ways without it ({}), and in none of them with it ({})",
                ends(plain),
                ends(fixed)
            ));
        }
        (true, _) => {
            found.findings.push(format!(
                "the program ends in several ways by itself: without it, it {}; with it, it {}",
                ends(plain),
                ends(fixed)
            ));
            found.unchecked.push("how often it ends in each way with it".to_owned());
        }
    }
}

/// The user's check holds after each plain start, or nothing would be compared.
fn compare_checks(fixed: &[Start], found: &mut Sameness) {
    let answers: Vec<Checked> = fixed.iter().filter_map(|start| start.check).collect();
    for (kind, verb) in [(Checked::Fails, "fails"), (Checked::Unfinished, "does not end")] {
        let count = answers.iter().filter(|&&answer| answer == kind).count();
        if count > 0 {
            found.differs = true;
            found.findings.push(format!("the check {verb} in {count} of {} starts with it", answers.len()));
        }
    }
    if answers.iter().any(|&answer| answer != Checked::Holds) {
        return;
    }
    if !answers.is_empty() {
        found.findings.push("the check holds with and without it".to_owned());
    }
}

/// "exited with code 0" or "exited with code 0 in 3 starts and exited with code 1 in 1".
fn ends(starts: &[Start]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for start in starts {
        *counts.entry(&start.end).or_default() += 1;
    }
    if let (1, Some((end, _))) = (counts.len(), counts.first_key_value()) {
        return (*end).to_owned();
    }
    let parts: Vec<String> = counts.iter().map(|(end, count)| format!("{end} in {count}")).collect();
    format!("{} of {} starts", parts.join(" and "), starts.len())
}

/// Outputs of starts with the same exit status.
fn compare_outputs(plain: &[&Start], fixed: &[&Start], when: &str, found: &mut Sameness) {
    let Some(longest) = plain.iter().max_by_key(|start| start.output.len()) else { return };
    let cut = if longest.was_cut { " until it was ended" } else { "" };
    let differing = fixed.iter().filter(|start| !is_same(start, longest)).count();
    if plain.iter().all(|start| is_same(start, longest)) {
        if differing == 0 {
            found.findings.push(format!("its output{cut}{when} is the same ({} bytes)", longest.output.len()));
        } else if plain.len() > 1 {
            found.differs = true;
            found.findings.push(format!(
                "its output{cut}{when} differs in {differing} of {} starts with it, and in none of {} without it",
                fixed.len(),
                plain.len()
            ));
        } else {
            found.unchecked.push(format!("its output{when}: there is one such start without it"));
        }
        return;
    }
    let common = common_lines(plain);
    let lines: usize = common.values().sum();
    let varies = format!("its output{when} differs from start to start without it, too");
    if longest.was_cut || lines == 0 {
        found.findings.push(varies);
        found.unchecked.push(format!("its output{when}: no part is the same in all starts"));
        return;
    }
    let lacking = fixed.iter().filter(|start| !holds(&start.output, &common)).count();
    if lacking == 0 {
        found.findings.push(format!("{varies}; the {lines} lines common to all starts are present with it"));
        found.unchecked.push(format!("the rest of its output{when}"));
    } else {
        found.differs = true;
        found.findings.push(format!(
            "{varies}; but some of the {lines} lines common to all {} starts without it are missing in \
             {lacking} of {} starts with it",
            plain.len(),
            fixed.len()
        ));
    }
}

/// If both were cut, one may be a prefix of the other.
fn is_same(one: &Start, other: &Start) -> bool {
    if one.was_cut && other.was_cut {
        return one.output.starts_with(&other.output) || other.output.starts_with(&one.output);
    }
    one.output == other.output
}

/// The count of each line in an output.
fn lines(output: &[u8]) -> HashMap<&[u8], usize> {
    let mut counts = HashMap::new();
    for line in output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// The lines common to all outputs, at any position.
fn common_lines<'s>(starts: &[&'s Start]) -> HashMap<&'s [u8], usize> {
    let mut all = starts.iter().map(|start| lines(&start.output));
    let mut common = all.next().unwrap_or_default();
    for counts in all {
        common.retain(|line, count| {
            *count = (*count).min(counts.get(line).copied().unwrap_or(0));
            *count > 0
        });
    }
    common
}

fn holds(output: &[u8], wanted: &HashMap<&[u8], usize>) -> bool {
    let counts = lines(output);
    wanted.iter().all(|(line, count)| counts.get(line).is_some_and(|found| found >= count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(of: &[(i32, &str)]) -> Vec<Start> {
        let start = |&(code, output): &(i32, &str)| Start {
            end: format!("exited with code {code}"),
            output: output.as_bytes().to_vec(),
            was_cut: false,
            check: None,
        };
        of.iter().map(start).collect()
    }

    fn cut(of: &[&str]) -> Vec<Start> {
        let start = |output: &&str| Start {
            end: "was ended".to_owned(),
            output: output.as_bytes().to_vec(),
            was_cut: true,
            check: None,
        };
        of.iter().map(start).collect()
    }

    #[test]
    fn a_steady_program_must_stay_as_it_is() {
        let plain = starts(&[(0, "a\n"), (0, "a\n"), (0, "a\n")]);
        let same = compare(&plain, &plain);
        assert!(!same.differs && same.unchecked.is_empty(), "{same:?}");
        assert_eq!(
            same.findings,
            ["the program exited with code 0 with and without it", "its output is the same (2 bytes)"]
        );
        for fixed in [[(0, "a\n"), (0, "b\n")], [(0, "a\n"), (3, "a\n")], [(0, "b\n"), (3, "")]] {
            assert!(compare(&plain, &starts(&fixed)).differs, "{fixed:?}");
        }
    }

    #[test]
    fn a_program_that_fails_by_itself_is_not_held_against_the_fix() {
        let plain = starts(&[(0, "a\n"), (0, "a\n"), (1, "no\n"), (0, "a\n")]);
        let found = compare(&plain, &starts(&[(0, "a\n"), (1, "no\n"), (0, "a\n")]));
        assert!(!found.differs, "{found:?}");
        assert!(
            found.findings[0].contains("exited with code 0 in 3 and exited with code 1 in 1 of 4 starts"),
            "{found:?}"
        );
        assert_eq!(found.unchecked.len(), 1);
        // Of failures there is one to compare with, which says nothing.
        assert!(!compare(&plain, &starts(&[(1, "other\n"), (0, "a\n")])).differs);
        // What it prints when it works still counts, and ends that it never had.
        assert!(compare(&plain, &starts(&[(0, "b\n"), (1, "no\n")])).differs);
        assert!(compare(&plain, &starts(&[(139, ""), (139, "")])).differs);
    }

    #[test]
    fn of_an_output_that_varies_the_common_lines_count() {
        let plain = starts(&[(0, "pid 1\nx\nx\ny\n"), (0, "pid 2\nx\nx\ny\n"), (0, "pid 3\nx\ny\nx\n")]);
        let found = compare(&plain, &starts(&[(0, "pid 4\nx\nx\ny\n")]));
        assert!(!found.differs && found.unchecked == ["the rest of its output"], "{found:?}");
        assert!(found.findings[1].contains("the 3 lines"), "{found:?}");
        assert!(compare(&plain, &starts(&[(0, "pid 4\nx\ny\n")])).differs, "one x is missing");
        let times = starts(&[(0, "1"), (0, "2")]);
        assert!(!compare(&times, &starts(&[(0, "3")])).differs);
    }

    #[test]
    fn a_check_that_fails_with_the_fix_is_a_difference() {
        let checked = |answer| Start { check: Some(answer), ..starts(&[(0, "a\n")]).remove(0) };
        use Checked::{Fails, Holds, Unfinished};
        let found = compare(&[checked(Holds), checked(Holds)], &[checked(Holds), checked(Fails)]);
        assert!(found.differs && found.findings[1] == "the check fails in 1 of 2 starts with it", "{found:?}");
        let found = compare(&[checked(Holds)], &[checked(Unfinished), checked(Fails)]);
        assert!(found.differs && found.findings[2] == "the check does not end in 1 of 2 starts with it", "{found:?}");
        let found = compare(&[checked(Holds), checked(Holds)], &[checked(Holds)]);
        assert!(!found.differs && found.findings[1] == "the check holds with and without it", "{found:?}");
    }

    #[test]
    fn a_program_that_we_end_may_have_come_further_in_one_start() {
        let plain = cut(&["listening\nfirst\n", "listening\n", "listening\n"]);
        assert!(!compare(&plain, &cut(&["listening\n", "listening\nfirst\nsecond\n"])).differs);
        assert!(compare(&plain, &cut(&["cannot listen\n"])).differs);
        let varying = cut(&["at 1\nready\n", "at 2\nready\n"]);
        let found = compare(&varying, &cut(&["at 3\n"]));
        assert!(!found.differs && !found.unchecked.is_empty(), "{found:?}");
    }
}
