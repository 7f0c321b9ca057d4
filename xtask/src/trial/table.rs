//! What came out: one row for each thing that was tried.

use std::fmt;

use anyhow::Result;

/// How many characters of what a program said go into the table, where two differ.
const SHOWN: usize = 300;

/// The rows so far.
#[derive(Default)]
pub(super) struct Table {
    trial: String,
    rows: Vec<Row>,
}

struct Row {
    trial: String,
    what: String,
    outcome: Outcome,
    detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Same,
    /// A fact beside; nothing was compared.
    Told,
    Differs,
    Failed,
}

impl Table {
    /// Rows from now on belong to this trial.
    pub(super) fn begin(&mut self, trial: &str) {
        trial.clone_into(&mut self.trial);
    }

    /// A fact.
    pub(super) fn told(&mut self, what: &str, detail: &str) {
        self.add(what, Outcome::Told, detail);
    }

    /// Something that went wrong.
    pub(super) fn failed(&mut self, what: &str, detail: &str) {
        self.add(what, Outcome::Failed, detail);
    }

    /// What `evidence` gives with `false` (the original) and with `true` (the packed or bound).
    pub(super) fn compare(&mut self, what: &str, mut evidence: impl FnMut(bool) -> Result<String>) {
        match (evidence(false), evidence(true)) {
            (Ok(original), Ok(packed)) if original == packed => {
                self.add(what, Outcome::Same, &format!("{} bytes of evidence", original.len()));
            }
            (Ok(original), Ok(packed)) => {
                self.add(what, Outcome::Differs, &first_difference(&original, &packed));
            }
            (Ok(_), Err(error)) => self.add(what, Outcome::Differs, &format!("only the rewritten fails: {error:#}")),
            (Err(error), _) => self.add(what, Outcome::Failed, &format!("the original fails: {error:#}")),
        }
    }

    /// Rows that stand against packing, or against the trial.
    pub(super) fn bad(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.outcome, Outcome::Differs | Outcome::Failed)).count()
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    fn add(&mut self, what: &str, outcome: Outcome, detail: &str) {
        let row = Row { trial: self.trial.clone(), what: what.to_owned(), outcome, detail: one_line(detail) };
        eprintln!("  {} {}: {}", row.what, row.outcome, row.detail);
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "| trial | what | outcome | detail |\n|---|---|---|---|")?;
        for Row { trial, what, outcome, detail } in &self.rows {
            writeln!(formatter, "| {trial} | {what} | {outcome} | {detail} |")?;
        }
        Ok(())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Same => "same",
            Self::Told => "–",
            Self::Differs => "**differs**",
            Self::Failed => "**failed**",
        })
    }
}

/// The first line in which two texts differ.
fn first_difference(original: &str, packed: &str) -> String {
    let (mut left, mut right) = (original.lines(), packed.lines());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return "line ends".to_owned(),
            (one, other) if one != other => {
                return format!("`{}` became `{}`", one.unwrap_or("(end)"), other.unwrap_or("(end)"));
            }
            _ => {}
        }
    }
}

/// A cell of a table: no line breaks, no bars, not too long.
fn one_line(text: &str) -> String {
    let line = text.trim().replace('\n', " / ").replace('|', "¦");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(&line)),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn failures_of_either_side_are_told_apart() {
        let mut table = Table::default();
        table.begin("a");
        table.compare("same", |_| Ok("1\n2".to_owned()));
        table.compare("other", |packed| Ok(format!("1\n{packed}|")));
        table.compare("crash", |packed| if packed { Err(anyhow!("signal 11")) } else { Ok("1".to_owned()) });
        table.compare("broken", |_| Err(anyhow!("no such file")));
        table.told("size", "12 MB");
        assert_eq!((table.bad(), table.len()), (3, 5));
        let shown = table.to_string();
        assert!(shown.contains("| a | other | **differs** | `false¦` became `true¦` |"), "{shown}");
        assert!(shown.contains("| a | crash | **differs** | only the rewritten fails: signal 11 |"), "{shown}");
        assert!(shown.contains("| a | broken | **failed** | the original fails: no such file |"), "{shown}");
    }
}
