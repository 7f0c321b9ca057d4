//! Every output of every verb: one row each. A new output needs a row here and nothing else.

/// A kind of output, as its content tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Trace,
    Plan,
    SavedPageCache,
    Page,
    Svg,
    Png,
    ViewerJson,
    Table,
    LoaderCache,
    StartImage,
    OrderList,
    Packed,
    Bound,
    Noted,
    AuditLibrary,
    /// It has no mark: only the very bytes that are to be written count as an earlier output.
    Restored,
    /// An original under another name: nothing is ever written over, `--force` or not.
    KeptOriginal,
}

/// How much of a command is run by these tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// All of it.
    Whole,
    /// Only as far as it is refused: the rest takes minutes, or needs what a test machine has not.
    Refused,
}

/// An output of a verb.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// As it is typed, without `coldstart`: "pagecache save".
    pub(crate) verb: &'static str,
    /// What names the output: an option, or `FILE` for a word of its own.
    pub(crate) option: &'static str,
    /// The command line behind the verb; `OUT` stands for the output's name. Other names are files of the scene.
    pub(crate) words: &'static [&'static str],
    pub(crate) kind: Kind,
    /// Files of the scene that the command reads, which it must not write over.
    pub(crate) inputs: &'static [&'static str],
    pub(crate) runs: Runs,
}

const fn output(
    verb: &'static str,
    option: &'static str,
    words: &'static [&'static str],
    kind: Kind,
    inputs: &'static [&'static str],
) -> Output {
    Output { verb, option, words, kind, inputs, runs: Runs::Whole }
}

/// All there are.
pub(crate) const OUTPUTS: &[Output] = &[
    output("trace", "-o", &["-o", "OUT", "--input", "input", "--", "./program"], Kind::Trace, &["program", "input"]),
    Output {
        runs: Runs::Refused,
        ..output("trace import", "-o", &["perf.data", "-o", "OUT"], Kind::Trace, &["perf.data"])
    },
    output("view", "-o .html", &["app.coldtrace", "-o", "OUT", "--as", "html"], Kind::Page, &["app.coldtrace"]),
    output("view", "-o .svg", &["app.coldtrace", "-o", "OUT", "--as", "svg"], Kind::Svg, &["app.coldtrace"]),
    output("view", "-o .png", &["app.coldtrace", "-o", "OUT", "--as", "png"], Kind::Png, &["app.coldtrace"]),
    output("view", "-o .json", &["app.coldtrace", "-o", "OUT", "--as", "json"], Kind::ViewerJson, &["app.coldtrace"]),
    output(
        "view",
        "-o .json --format firefox",
        &["app.coldtrace", "-o", "OUT", "--as", "json", "--format", "firefox"],
        Kind::ViewerJson,
        &["app.coldtrace"],
    ),
    output(
        "view",
        "-o .csv",
        &["app.coldtrace", "-o", "OUT", "--as", "csv", "--table", "touches"],
        Kind::Table,
        &["app.coldtrace"],
    ),
    output(
        "view",
        "-o .csv of two",
        &["app.coldtrace", "other.coldtrace", "-o", "OUT", "--as", "csv", "--table", "changes"],
        Kind::Table,
        &["app.coldtrace", "other.coldtrace"],
    ),
    output(
        "measure",
        "--html",
        &["--state", "hot", "--runs", "2", "--html", "OUT", "--input", "input", "--", "./program"],
        Kind::Page,
        &["program", "input", "history.sqlite"],
    ),
    output(
        "measure",
        "--html of --history",
        &["--history", "program", "--html", "OUT"],
        Kind::Page,
        &["history.sqlite"],
    ),
    output("measure", "--svg", &["--history", "program", "--svg", "OUT"], Kind::Svg, &["history.sqlite"]),
    output("inspect", "--html", &["lib.so", "--html", "OUT"], Kind::Page, &["lib.so"]),
    output("inspect", "--svg", &["lib.so", "--svg", "OUT"], Kind::Svg, &["lib.so"]),
    output("inspect", "--html of a directory", &["sub", "--html", "OUT"], Kind::Page, &["sub/libfirst.so"]),
    output(
        "prefetch record",
        "-o",
        &["--as-is", "-o", "OUT", "--input", "input", "--", "./program"],
        Kind::Plan,
        &["program", "input"],
    ),
    output(
        "prefetch record",
        "-o of --from",
        &["--exact", "--from", "app.coldtrace", "-o", "OUT"],
        Kind::Plan,
        &["app.coldtrace"],
    ),
    output("prefetch merge", "-o", &["app.prefetch", "-o", "OUT"], Kind::Plan, &["app.prefetch"]),
    Output {
        runs: Runs::Refused,
        ..output("speedup", "-o", &["-o", "OUT", "--", "./program"], Kind::Plan, &["program"])
    },
    Output {
        runs: Runs::Refused,
        ..output("speedup", "--html", &["--html", "OUT", "--", "./program"], Kind::Page, &["program"])
    },
    output("image make", "-o", &["--tree", "sub", "-o", "OUT"], Kind::StartImage, &[]),
    output(
        "image make",
        "-o of --trace",
        &["--tree", "sub", "--trace", "app.coldtrace", "-o", "OUT"],
        Kind::StartImage,
        &["app.coldtrace"],
    ),
    Output {
        runs: Runs::Refused,
        ..output("image make", "-o of a start", &["-o", "OUT", "--", "./program"], Kind::StartImage, &["program"])
    },
    Output {
        runs: Runs::Refused,
        ..output(
            "order appimage",
            "-o",
            &["app.zip", "-o", "OUT", "--trace", "zip.coldtrace"],
            Kind::Restored,
            &["app.zip", "zip.coldtrace"],
        )
    },
    output("order files", "-o", &["app.coldtrace", "-o", "OUT"], Kind::Restored, &["app.coldtrace"]),
    output(
        "order zip",
        "-o",
        &["app.zip", "-o", "OUT", "--trace", "zip.coldtrace"],
        Kind::Restored,
        &["app.zip", "zip.coldtrace"],
    ),
    output("pagecache save", "FILE", &["OUT", "input"], Kind::SavedPageCache, &["input"]),
    output("ldcache write", "-o", &["-o", "OUT", "sub"], Kind::LoaderCache, &[]),
    output("ldcache write", "-o of --closure", &["-o", "OUT", "--closure", "app"], Kind::LoaderCache, &["app"]),
    output("ldcache write", "-o of --note", &["--note", "app", "-o", "OUT"], Kind::Noted, &["app"]),
    Output {
        runs: Runs::Refused,
        ..output(
            "order functions",
            "-o",
            &["app.coldtrace", "--for", "lld", "-o", "OUT"],
            Kind::OrderList,
            &["app.coldtrace"],
        )
    },
    output("pack", "-o", &["lib.so", "-o", "OUT"], Kind::Packed, &["lib.so"]),
    output(
        "pack",
        "--keep-original",
        &["--in-place", "lib.so", "--keep-original", "OUT"],
        Kind::KeptOriginal,
        &["lib.so"],
    ),
    output("unpack", "-o", &["packed.so", "-o", "OUT"], Kind::Restored, &["packed.so"]),
    output("bind", "-o", &["--anyway", "app", "-o", "OUT"], Kind::Bound, &["app"]),
    output(
        "bind",
        "--keep-original",
        &["--anyway", "--in-place", "app", "--keep-original", "OUT"],
        Kind::KeptOriginal,
        &["app"],
    ),
    output(
        "bind",
        "--audit-library",
        &["--mode", "audit", "app", "-o", "audited", "--audit-library", "OUT"],
        Kind::AuditLibrary,
        &["app"],
    ),
    output("unbind", "-o", &["bound", "-o", "OUT"], Kind::Restored, &["bound"]),
];
