//! Every command that writes files. Most come from `outputs/table.rs`, so that a new output is tried here without further ado.

use super::asked;
use crate::outputs::table::{Kind, OUTPUTS, Output, Runs};

/// A command that writes files.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    /// "pack -o".
    pub(super) name: String,
    /// The words behind `coldstart`.
    pub(super) words: Vec<String>,
    /// A command that has to run before, if any.
    pub(super) setup: &'static [&'static str],
    /// Whether `--force` may overwrite a user's file at [`OUT`].
    may_replace: bool,
    /// Whether it does, here.
    pub(super) replaces: bool,
    /// Whether it writes below its output where that is a directory.
    pub(super) goes_below: bool,
    /// The file that this command replaces after it has kept it at [`OUT`].
    pub(super) keeps: Option<&'static str>,
}

/// The output of most commands.
pub(super) const OUT: &str = "to";

/// Commands that replace their input, or write more than a file, and those that `outputs/table.rs` tries only up to a refusal.
const OTHERS: &[(&str, &[&str], &[&str])] = &[
    ("pack --in-place", &[], &["pack", "--in-place", "lib.so"]),
    ("pack --in-place of a directory", &[], &["pack", "--in-place", "sub"]),
    ("unpack --in-place", &[], &["unpack", "--in-place", "packed.so"]),
    ("bind --in-place", &[], &["bind", "--anyway", "--in-place", "app"]),
    ("unbind --in-place", &[], &["unbind", "--in-place", "bound"]),
    ("ldcache write --in-place", &[], &["ldcache", "write", "--in-place", "--note", "app"]),
    ("index make", &[], &["index", "make", "-o", "index", "--", "/usr/bin/python3", "use.py"]),
    (
        "index make over an index",
        &["index", "make", "-o", "index", "--", "/usr/bin/python3", "other.py"],
        &["index", "make", "-o", "index", "--", "/usr/bin/python3", "use.py"],
    ),
    ("trace import -o", &[], &["trace", "import", "recorded.data", "-o", OUT]),
    ("order functions -o", &[], &["order", "functions", "functions.coldtrace", "--for", "lld", "-o", OUT]),
    ("image make -o of a start", &[], &["image", "make", "-o", OUT, "--", "./program"]),
    (
        "speedup -o",
        &[],
        &["speedup", "--runs", "2", "--fixes", "prefetch", "-o", OUT, "--html", "to.html", "--", "./program"],
    ),
    (
        "prefetch install",
        &[],
        &["prefetch", "install", "--user", "--place", "wrapper", "app.prefetch", "--", "./program"],
    ),
    (
        "installed --uninstall",
        &["prefetch", "install", "--user", "--place", "wrapper", "app.prefetch", "--", "./program"],
        &["installed", "program", "--user", "--uninstall"],
    ),
];

/// Outputs of `outputs/table.rs` that are not written here, and where they are.
const ELSEWHERE: &[(&str, &str, &str)] =
    &[("order appimage", "-o", "order/odd_appimages.rs: it needs an AppImage and the tools of squashfs")];

/// Those that are tried, in each of their ways: all, where the environment asks for a number of tries.
pub(super) fn writers(is_wanted: impl Fn(&Writer) -> bool) -> Vec<(Writer, Way)> {
    let tried = all().into_iter().filter(|writer| asked().is_some() || !writer.is_slow()).filter(is_wanted);
    let ways = tried.enumerate().map(|(turn, writer)| writer.ways(turn));
    let numbered = ways.flat_map(|ways| {
        let of = ways.len();
        ways.into_iter().enumerate().map(move |(number, writer)| (writer, Way { number, of }))
    });
    numbered.collect()
}

/// Which way to run a command it is, and of how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    number: usize,
    of: usize,
}

impl Way {
    /// Its share of a command's tries.
    pub(super) fn share(self, tries: usize) -> usize {
        tries / self.of + usize::from(self.number < tries % self.of)
    }
}

fn all() -> Vec<Writer> {
    let rows = OUTPUTS.iter().filter(|output| output.runs == Runs::Whole).map(of_row);
    let others = OTHERS.iter().map(|(name, setup, words)| Writer {
        name: (*name).to_owned(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        setup,
        may_replace: false,
        replaces: false,
        goes_below: false,
        keeps: None,
    });
    rows.chain(others).collect()
}

fn of_row(output: &Output) -> Writer {
    let keeps = output.kind == Kind::KeptOriginal;
    let words = output.words.iter().map(|word| if *word == "OUT" { OUT } else { word });
    Writer {
        name: format!("{} {}", output.verb, output.option),
        words: output.verb.split(' ').chain(words).map(str::to_owned).collect(),
        setup: &[],
        may_replace: !keeps,
        replaces: false,
        goes_below: matches!(output.kind, Kind::Packed | Kind::Restored | Kind::Bound | Kind::Noted),
        keeps: keeps.then(|| output.inputs[0]),
    }
}

impl Writer {
    /// The ways to run it: where there is no output yet, and where `--force` overwrites a user's file. Where no number of tries
    /// is asked for, one of them, in turn.
    fn ways(self, turn: usize) -> Vec<Self> {
        if !self.may_replace {
            return vec![self];
        }
        let mut forced = Self { name: format!("{} --force", self.name), replaces: true, ..self.clone() };
        let verb = if OUTPUTS.iter().any(|output| output.verb == self.words[..2].join(" ")) { 2 } else { 1 };
        forced.words.insert(verb, "--force".to_owned());
        match (asked(), turn % 2) {
            (Some(_), _) => vec![self, forced],
            (None, 0) => vec![self],
            (None, _) => vec![forced],
        }
    }

    /// Whether it installs or uninstalls: steps, of which a manifest says how far they are.
    pub(super) fn has_steps(&self) -> bool {
        self.name.contains("install")
    }

    /// Whether it takes too long to be tried where nothing else is asked for. `speedup` starts its program dozens of times; it
    /// writes its plan as `prefetch record` does.
    fn is_slow(&self) -> bool {
        self.words[0] == "speedup"
    }

    /// Whether it starts programs, so that its kernel facilities and caches are the machine's.
    pub(super) fn starts_programs(&self) -> bool {
        self.words.iter().any(|word| word == "--")
    }
}

#[test]
fn every_output_of_the_table_is_written() {
    let names: Vec<String> = all().into_iter().map(|writer| writer.name).collect();
    let is_there = |output: &&Output| {
        let name = format!("{} {}", output.verb, output.option);
        // The page of `speedup` is written beside its plan.
        names.contains(&name)
            || name == "speedup --html"
            || ELSEWHERE.iter().any(|(verb, option, _)| (*verb, *option) == (output.verb, output.option))
    };
    let forgotten: Vec<_> = OUTPUTS.iter().filter(|output| !is_there(output)).collect();
    assert!(forgotten.is_empty(), "outputs that no command here writes: {forgotten:#?}");
}
