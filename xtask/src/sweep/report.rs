//! What came out, as a table for people and for `docs/hard-use.md`.

use std::collections::BTreeMap;
use std::fmt;

/// One subject of the sweep.
#[derive(Default)]
pub(super) struct Row {
    pub(super) subject: String,
    /// How many were tried.
    pub(super) count: usize,
    /// How many of them were as they should be.
    pub(super) same: usize,
    /// The others, with what differs.
    pub(super) different: Vec<String>,
    /// What is neither, for instance refusals by their codes, and how many.
    pub(super) besides: BTreeMap<String, usize>,
}

impl Row {
    pub(super) fn new(subject: &str) -> Self {
        Self { subject: subject.to_owned(), ..Self::default() }
    }

    /// Counts one that was tried, with how it differs.
    pub(super) fn count(&mut self, name: &str, difference: Option<String>) {
        self.count += 1;
        match difference {
            None => self.same += 1,
            Some(difference) => self.different.push(format!("{name}: {difference}")),
        }
    }

    /// Counts something that is neither.
    pub(super) fn beside(&mut self, what: impl Into<String>) {
        *self.besides.entry(what.into()).or_insert(0) += 1;
    }
}

/// All rows.
#[derive(Default)]
pub(super) struct Report(Vec<Row>);

impl Report {
    pub(super) fn add(&mut self, row: Row) {
        eprintln!("sweep: {}: {} of {} the same", row.subject, row.same, row.count);
        row.besides.iter().for_each(|(what, count)| eprintln!("  {count} {what}"));
        row.different.iter().for_each(|different| eprintln!("  {different}"));
        self.0.push(row);
    }

    /// How many differ.
    pub(super) fn different(&self) -> usize {
        self.0.iter().map(|row| row.different.len()).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "| subject | count | the same | different | besides |\n|---|---|---|---|---|")?;
        for row in &self.0 {
            let besides: Vec<String> = row.besides.iter().map(|(what, count)| format!("{count} {what}")).collect();
            let (subject, different) = (&row.subject, row.different.len());
            writeln!(
                formatter,
                "| {subject} | {} | {} | {different} | {} |",
                row.count,
                row.same,
                besides.join("; ").replace('|', "\\|")
            )?;
        }
        for row in self.0.iter().filter(|row| !row.different.is_empty()) {
            writeln!(formatter, "\n{}, different:\n", row.subject)?;
            row.different.iter().try_for_each(|different| writeln!(formatter, "- {different}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_below_the_table() {
        let mut row = Row::new("programs packed");
        row.count("/usr/bin/ls --help", None);
        row.count("/usr/bin/cp --help", Some("exit status 0 became 139: ".into()));
        row.beside("refused: no|way");
        let mut report = Report::default();
        report.add(row);
        assert_eq!(report.different(), 1);
        assert_eq!(
            report.to_string(),
            "| subject | count | the same | different | besides |\n|---|---|---|---|---|\n\
             | programs packed | 2 | 1 | 1 | 1 refused: no\\|way |\n\n\
             programs packed, different:\n\n- /usr/bin/cp --help: exit status 0 became 139: \n"
        );
    }
}
