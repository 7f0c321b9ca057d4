//! Every place of the command line at which something to be read is named.

/// What should be in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Anything goes.
    Any,
    /// Anything goes, and a file that may not be read is counted as hidden.
    Counted,
    Plan,
    Trace,
    /// What `perf record` writes.
    Recording,
    /// What `measure --json` prints.
    Measurement,
    History,
    SavedPageCache,
    LoaderCache,
    StartImage,
    Zip,
    /// What GNU ld prints about a link.
    LinkMap,
    /// A program to start.
    Program,
    /// An ELF file.
    Object,
    /// An ELF file of which only headers and tables are looked at, so that one that is cut behind them or is too long does, too.
    ObjectTables,
}

/// What is wanted at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    File(Content),
    /// A directory is taken, too, and gone through.
    FileOrDirectory(Content),
    Directory,
}

/// A place of the command line at which something to be read is named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub(crate) wanted: Wanted,
    /// The argument that names it, as `coldstart_cli::listed_arguments` has it.
    pub(crate) argument: &'static str,
    /// The words behind `coldstart`, with `{}` for the path. `-o out` and the like name what is not there.
    pub(crate) words: &'static str,
}

const fn file(argument: &'static str, words: &'static str, content: Content) -> Input {
    Input { wanted: Wanted::File(content), argument, words }
}

const fn file_or_directory(argument: &'static str, words: &'static str, content: Content) -> Input {
    Input { wanted: Wanted::FileOrDirectory(content), argument, words }
}

const fn directory(argument: &'static str, words: &'static str) -> Input {
    Input { wanted: Wanted::Directory, argument, words }
}

/// All of them, by verb.
pub(crate) const INPUTS: &[Input] = &[
    file("--input", "measure --state hot --runs 3 --no-history --input {} -- true", Content::Any),
    file("--against", "measure --state hot --runs 3 --no-history --against {} -- true", Content::Measurement),
    file("--state", "measure --state boot={} --runs 3 --no-history -- true", Content::SavedPageCache),
    file("--import", "measure --history-file new --import {}", Content::Measurement),
    file("--history-file", "measure --history --history-file {}", Content::History),
    file("FILE", "pagecache restore --add {}", Content::SavedPageCache),
    file_or_directory("PATH", "pagecache show {}", Content::Any),
    file_or_directory("PATH", "pagecache evict {}", Content::Any),
    file_or_directory("FILE|DIR|PROGRAM", "inspect {}", Content::Object),
    file_or_directory("--compare", "inspect --compare {} /bin/true", Content::Object),
    file_or_directory("FILE|DIR|PROGRAM", "inspect --compare /bin/true {}", Content::Object),
    file("FILE|DIR|PROGRAM", "inspect --closure {}", Content::Object),
    file("--input", "trace -o out --input {} -- true", Content::Any),
    file("FILE", "trace show {}", Content::Trace),
    file("FILE", "trace sql {} SELECT-1", Content::Trace),
    file("PERF.DATA", "trace import {} -o out", Content::Recording),
    file("TRACE", "view {}", Content::Trace),
    file("TRACE", "view {} -o out.html", Content::Trace),
    file("PROGRAM", "resolve {}", Content::ObjectTables),
    file("--interpreter", "resolve --interpreter {} /bin/true", Content::ObjectTables),
    file("--later", "resolve --later {} /bin/true", Content::Plan),
    file("--mapped", "resolve --mapped {} /bin/true", Content::Any),
    directory("--sysroot", "resolve --sysroot {} /bin/true"),
    directory("--current-directory", "resolve --current-directory {} /bin/true"),
    file_or_directory("FILE|DIR", "pack --in-place {}", Content::Object),
    file_or_directory("FILE|DIR", "pack {} -o out", Content::Object),
    file("--closed-world", "pack --passes all-safe --closed-world {} --dry-run /bin/true", Content::ObjectTables),
    file_or_directory("FILE|DIR", "unpack --in-place {}", Content::Object),
    file("OUT", "verify {}", Content::Object),
    file("--against", "verify /bin/true --against {}", Content::Object),
    file("PROGRAM", "bind {} -o out", Content::Object),
    directory("--farm", "bind --anyway --farm {}/links -o out /bin/true"),
    directory("--root", "bind --mode origin --root {} -o out /bin/true"),
    file_or_directory("FILE|DIR", "unbind --in-place {}", Content::Object),
    file("FILE", "status {}", Content::Object),
    directory("DIR", "ldcache write -o out {}"),
    directory("--sysroot", "ldcache write -o out --sysroot {}"),
    directory("--guix", "ldcache write --guix {}"),
    file("--ld-so-conf", "ldcache write -o out --ld-so-conf {}", Content::Any),
    file("--closure", "ldcache write -o out --closure {}", Content::ObjectTables),
    file("--note", "ldcache write --in-place --note {}", Content::Object),
    file("FILE", "ldcache show {}", Content::LoaderCache),
    file("FILE", "ldcache check {}", Content::LoaderCache),
    directory("--sysroot", "ldcache check --sysroot {}"),
    file("--input", "prefetch record -o out --input {} -- true", Content::Any),
    file("--from", "prefetch record -o out --exact --from {}", Content::Trace),
    file("PLAN", "prefetch merge -o out {}", Content::Plan),
    file("PLAN", "prefetch install --user {} -- true", Content::Plan),
    file("PLAN", "prefetch show {}", Content::Plan),
    file("PLAN", "prefetch run {}", Content::Plan),
    directory("--tree", "image make -o out --tree {}"),
    directory("--root", "image make -o out --root {}"),
    directory("--oci", "image make -o out --oci {}"),
    directory("--trace-root", "image make -o out --root sub --trace app.coldtrace --trace-root {}"),
    file("--trace", "image make -o out --trace {}", Content::Trace),
    file("--input", "image make -o out --input {} -- true", Content::Any),
    file("PROGRAM", "image make -o out -- {}", Content::Program),
    file("IMAGE", "image verify {}", Content::StartImage),
    directory("--against", "image verify app.erofs --against {}"),
    file("IMAGE", "image show {}", Content::StartImage),
    file("TRACE", "order functions --for lld -o out {}", Content::Trace),
    file("--symbols", "order functions --for lld -o out app.coldtrace --symbols {}", Content::Object),
    file("--map", "order functions --for ld -o out app.coldtrace --map {}", Content::LinkMap),
    file("--objects", "order functions --for ld -o out app.coldtrace --objects {}", Content::Object),
    file("--script", "order functions --for ld --objects /bin/true -o out app.coldtrace --script {}", Content::Any),
    file("LIST", "order check --before app.named --after app.named {}", Content::Any),
    file("--before", "order check app.order --before {} --after app.named", Content::Object),
    file("--after", "order check app.order --before app.named --after {}", Content::Object),
    file("--trace", "order check app.order --before app.named --after app.named --trace {}", Content::Trace),
    file("--held-out", "order check app.order --before app.named --after app.named --held-out {}", Content::Trace),
    file(
        "--control",
        "order check app.order --before app.named --after app.named --control {} -- {}",
        Content::Program,
    ),
    file("--input", "order check app.order --before app.named --after app.named --input {} -- true", Content::Any),
    file("PROGRAM", "order check app.order --before app.named --after app.named -- {}", Content::Program),
    file("FILE", "order appimage -o out --trace app.coldtrace {}", Content::Program),
    directory("--trace-root", "order appimage -o out --trace app.coldtrace /bin/true --trace-root {}"),
    file("TRACE", "order files {}", Content::Trace),
    directory("--root", "order files app.coldtrace --root {}"),
    directory("--trace-root", "order files app.coldtrace --root sub --trace-root {}"),
    file("FILE", "order zip -o out --trace app.coldtrace {}", Content::Zip),
    file("--trace", "order zip -o out app.zip --trace {}", Content::Trace),
    file("--input", "speedup -o out --input {} -- true", Content::Any),
    file("PROGRAM", "measure --state hot --runs 3 --no-history -- {}", Content::Program),
    file("--compare", "measure --state hot --runs 3 --no-history --compare {} -- true", Content::Program),
    file("PROGRAM", "trace -o out -- {}", Content::Program),
    file("PROGRAM", "prefetch record -o out -- {}", Content::Program),
    file("PROGRAM", "speedup -o out -- {}", Content::Program),
    file("OTHER", "view app.coldtrace {} -o out.html", Content::Trace),
    file_or_directory("PATH", "pagecache save out {}", Content::Counted),
];
