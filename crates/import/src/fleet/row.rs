//! The lines of a fleet table: JSON objects, one a line, each checked. Format: `docs/formats/fleet.md`.

use std::path::Path;

use serde::Deserialize;

use coldstart_profile::PAGE_SIZE;

/// A range of pages of one file, with the hosts that touched it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct FleetRow {
    /// The program that the hosts started.
    pub(super) program: String,
    /// Its build id.
    pub(super) program_build_id: Option<String>,
    /// The file.
    pub(super) path: String,
    /// Its build id.
    pub(super) build_id: Option<String>,
    /// Its size in bytes.
    pub(super) size: u64,
    /// The first page.
    pub(super) page: u64,
    /// How many pages.
    pub(super) pages: u64,
    /// Hosts that touched each of them.
    pub(super) hosts: u64,
    /// Hosts that could have.
    pub(super) of_hosts: u64,
    /// Their first use, microseconds since the launch.
    pub(super) first_use_us: u64,
    /// The whole start, microseconds.
    pub(super) start_us: u64,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrongLine {
    /// From 1.
    pub(super) line: u64,
    /// The place in the line, or the column of the table.
    pub(super) place: String,
    /// A clause.
    pub(super) what: String,
}

/// The rows of a table. Empty lines are none.
pub(super) fn rows(bytes: &[u8]) -> Result<Vec<FleetRow>, WrongLine> {
    let lines = (1u64..).zip(bytes.split(|byte| *byte == b'\n'));
    let lines = lines.filter(|(_, text)| !text.iter().all(u8::is_ascii_whitespace));
    lines.map(|(line, text)| row(text).map_err(|(place, what)| WrongLine { line, place, what })).collect()
}

fn row(text: &[u8]) -> Result<FleetRow, (String, String)> {
    let row: FleetRow = serde_json::from_slice(text).map_err(|error| {
        let what = error.to_string();
        // serde_json counts lines, too, and sees one only.
        let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
        (format!("character {}", error.column()), what.to_owned())
    })?;
    row.check().map_err(|(column, what)| (format!("column `{column}`"), what))?;
    Ok(row)
}

impl FleetRow {
    fn check(&self) -> Result<(), (&'static str, String)> {
        for (column, path) in [("program", &self.program), ("path", &self.path)] {
            if !Path::new(path).is_absolute() || path.contains('\0') {
                return Err((column, "is not an absolute path".to_owned()));
            }
        }
        for (column, id) in [("program_build_id", &self.program_build_id), ("build_id", &self.build_id)] {
            let is_id =
                |id: &String| !id.is_empty() && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            if !id.as_ref().is_none_or(is_id) {
                return Err((column, "is neither hexadecimal in lower case nor null".to_owned()));
            }
        }
        if self.pages == 0 {
            return Err(("pages", "is 0".to_owned()));
        }
        let in_file = self.size.div_ceil(PAGE_SIZE);
        if self.page.checked_add(self.pages).is_none_or(|end| end > in_file) {
            return Err(("pages", format!("goes beyond the end of the file, which has {in_file} pages")));
        }
        if u32::try_from(self.pages).is_err() {
            return Err(("pages", "is more than 4294967295".to_owned()));
        }
        if self.hosts == 0 || self.hosts > self.of_hosts {
            return Err(("hosts", format!("is not between 1 and `of_hosts`, {}", self.of_hosts)));
        }
        // As in a prefetch plan: at most 71 minutes.
        if u32::try_from(self.start_us).is_err() || self.start_us == 0 {
            return Err(("start_us", "is not between 1 and 4294967295".to_owned()));
        }
        if self.first_use_us > self.start_us {
            return Err(("first_use_us", "is after the end of the start".to_owned()));
        }
        Ok(())
    }

    /// Whether at least `share` percent of the hosts touched the pages.
    pub(super) fn reaches(&self, share: u8) -> bool {
        u128::from(self.hosts) * 100 >= u128::from(share) * u128::from(self.of_hosts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: &str = r#"{"program":"/usr/bin/app","program_build_id":"ab12","path":"/usr/lib/libx.so","build_id":null,"size":8192,"page":1,"pages":1,"hosts":3,"of_hosts":10,"first_use_us":5,"start_us":9}"#;

    fn wrong(line: &str) -> String {
        let WrongLine { line, place, what } = rows(format!("{LINE}\n\n{line}").as_bytes()).unwrap_err();
        format!("{line}, {place}: {what}")
    }

    #[test]
    fn a_line_is_a_row() {
        let read = rows(format!("{LINE}\n  \n{LINE}").as_bytes()).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].hosts, read[0].build_id.as_deref()), (3, None));
        assert!(read[0].reaches(30) && !read[0].reaches(31));
        // Spark leaves out what is null, and a table may have more columns.
        let other = LINE.replace("\"build_id\":null,", "\"region\":\"eu\",");
        assert_eq!(rows(other.as_bytes()).unwrap(), read[..1]);
    }

    #[test]
    fn an_error_names_line_and_column() {
        assert_eq!(
            wrong(&LINE.replace(":8192", ":\"8\"")),
            "3, character 104: invalid type: string \"8\", expected u64"
        );
        assert!(wrong(&LINE.replace(",\"pages\":1", "")).ends_with("missing field `pages`"));
        assert!(wrong("{").starts_with("3, character 1: EOF"));
        let cases = [
            ("\"/usr/bin/app\"", "\"app\"", "column `program`: is not an absolute path"),
            ("\"ab12\"", "\"AB\"", "column `program_build_id`: is neither hexadecimal in lower case nor null"),
            ("\"pages\":1", "\"pages\":0", "column `pages`: is 0"),
            ("\"pages\":1", "\"pages\":2", "column `pages`: goes beyond the end of the file, which has 2 pages"),
            ("\"hosts\":3", "\"hosts\":11", "column `hosts`: is not between 1 and `of_hosts`, 10"),
            ("\"start_us\":9", "\"start_us\":4", "column `first_use_us`: is after the end of the start"),
        ];
        for (right, other, expected) in cases {
            assert_eq!(wrong(&LINE.replace(right, other)), format!("3, {expected}"));
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes: Vec<u8>, page: u64, pages: u64, size: u64, at in 0..LINE.len()) {
            let _ = rows(&bytes);
            let line = LINE.replace(":8192", &format!(":{size}")).replace(":1,", &format!(":{page},"));
            if let Ok(rows) = rows(line.replace("\"pages\":1", &format!("\"pages\":{pages}")).as_bytes()) {
                prop_assert!(rows.iter().all(|row| row.page + row.pages <= row.size.div_ceil(4096)));
            }
            let _ = rows(LINE.get(..at).unwrap_or_default().as_bytes());
        }
    }
}
