//! Runs the same commands with two builds of coldstart: all output and files must be identical.
//!
//! For changes without visible effect. Values that always differ are left out: times, PIDs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;
use walkdir::WalkDir;

use crate::tools::run;

/// Which builds are compared.
#[derive(Args)]
pub(crate) struct CompareArguments {
    /// The program whose answers are right
    old: PathBuf,
    /// The program that must give the same
    new: PathBuf,
    /// Show all differences, not only the first lines
    #[arg(long)]
    all: bool,
}

/// Programs and libraries that are looked at, those that are there.
const FILES: &[&str] = &[
    "/bin/sh",
    "/bin/true",
    "/usr/bin/git",
    "/usr/bin/gdb",
    "/usr/bin/perl",
    "/usr/bin/python3",
    "/usr/bin/qemu-aarch64",
    "/usr/bin/sqlite3",
    "/usr/bin/ldd",
    "/usr/lib/chromium/chromium",
    "/usr/lib/firefox-esr/libxul.so",
    "/usr/lib/libreoffice/program/soffice.bin",
    "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-musl/libc.so",
    "/usr/i686-linux-gnu/lib/libc.so.6",
    "/usr/aarch64-linux-gnu/lib/libc.so.6",
];

/// What is asked of each file; `FILE` is its path, `NAME` its last part.
const OF_FILES: &[&str] = &[
    "inspect FILE",
    "inspect --json FILE",
    "inspect --all FILE",
    "inspect --closure FILE",
    "inspect --closure --json FILE",
    "resolve FILE",
    "resolve --json FILE",
    "resolve --tree FILE",
    "resolve --probes FILE",
    "resolve --dot FILE",
    "pack --dry-run FILE",
    "pack --dry-run --json FILE",
    "pack -o NAME.packed FILE",
    "pack --json -o NAME.packed-2 FILE",
    "status NAME.packed",
    "status --json NAME.packed",
    "verify NAME.packed",
    "verify --against FILE NAME.packed",
    "verify --json --against FILE NAME.packed",
    "unpack -o NAME.unpacked NAME.packed",
    "bind --dry-run FILE",
    "bind --dry-run --json FILE",
    "bind --anyway -o NAME.bound FILE",
    "bind --anyway --mode path -o NAME.bound-by-path FILE",
    "status NAME.bound",
    "status --json NAME.bound",
    "verify --against FILE NAME.bound",
    "unbind -o NAME.unbound NAME.bound",
    "ldcache show FILE",
    "pagecache show FILE --json",
    "prefetch show FILE",
    "trace show FILE",
];

/// What is asked once; `TRACE` and `PLAN` were recorded by the old program.
const ONCE: &[&str] = &[
    "--help",
    "--version",
    "",
    "no-such-verb",
    "inspect /no/such/file",
    "inspect --json /no/such/file",
    "inspect /etc/passwd",
    "inspect /etc",
    "inspect /usr/lib/git-core --json",
    "pack /etc/passwd -o nothing",
    "pack --in-place --dry-run /usr/lib/git-core",
    "bind /etc/passwd -o nothing",
    "verify --against /etc/passwd /etc/group",
    "unbind /bin/true -o nothing",
    "unpack /bin/true -o nothing",
    "status /bin/true",
    "resolve no-such-program",
    "resolve --sysroot / /bin/sh",
    "ldcache show",
    "ldcache show --json",
    "ldcache check",
    "ldcache check --json",
    "ldcache write -o cache /usr/lib/x86_64-linux-gnu",
    "ldcache write -o closure.cache --closure /usr/bin/python3",
    "ldcache show closure.cache",
    "pagecache show /no/such/file",
    "prefetch show PLAN",
    "prefetch show --json PLAN",
    "prefetch run /no/such/plan -- echo hello",
    "trace show TRACE",
    "trace show --json TRACE",
    "trace sql TRACE SELECT(1)",
    "view TRACE -o start.html",
    "view TRACE -o start.svg",
    "view TRACE -o start.png",
    "view TRACE -o start.perfetto.json --format perfetto",
    "view TRACE -o start.firefox.json --format firefox",
    "view TRACE -o start.csv --table events",
    "view TRACE --terminal",
    "view TRACE TRACE --json",
    "view TRACE --table list",
    "view TRACE -o start.unknown",
    "measure --history no-such-program",
    "measure --import /etc/passwd",
    "measure --against last --fail-if-slower 5 -- true --no-history",
    "speedup",
    "speedup -- /no/such/program",
    "trace -- /no/such/program",
    "prefetch record -- /no/such/program",
];

/// What one command said and left behind.
#[derive(PartialEq, Eq)]
struct Answer {
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Compares; fails when anything differs.
pub(crate) fn compare(arguments: &CompareArguments) -> Result<()> {
    let root = crate::cargo::target_directory()?.join("compare");
    let _ = std::fs::remove_dir_all(&root);
    let directories = ["recorded", "same"].map(|name| root.join(name));
    directories.iter().try_for_each(fs_err::create_dir_all)?;
    let [recorded, same] = &directories;
    let (old, new) = (fs_err::canonicalize(&arguments.old)?, fs_err::canonicalize(&arguments.new)?);
    let (trace, plan) = (recorded.join("start.coldtrace"), recorded.join("start.prefetch"));
    let program = ["--", "/usr/bin/python3", "-c", "import json, decimal"];
    run(Command::new(&old).args(["trace", "-o"]).arg(&trace).args(program))?;
    run(Command::new(&old).args(["prefetch", "record", "-o"]).arg(&plan).args(program))?;
    let commands = commands(&old, &trace, &plan)?;
    let mut differing = 0_usize;
    // Each works in a directory of the same name, which the other left behind under another one.
    let answers = [&old, &new].map(|program| -> Result<_> {
        let _ = std::fs::remove_dir_all(same);
        fs_err::create_dir_all(same)?;
        let answers = commands.iter().map(|words| ask(program, words, same)).collect::<Result<Vec<_>>>()?;
        Ok((answers, files(same)?))
    });
    let [before, after] = answers;
    let ((before, files_before), (after, files_after)) = (before?, after?);
    for (words, (one, other)) in commands.iter().zip(before.iter().zip(&after)).filter(|(_, (one, other))| one != other)
    {
        differing = differing.saturating_add(1);
        println!("\ncoldstart {}: exit {:?}, then {:?}", words.join(" "), one.code, other.code);
        show(&one.stdout, &other.stdout, arguments.all);
        show(&one.stderr, &other.stderr, arguments.all);
    }
    for (path, bytes) in &files_before {
        if files_after.get(path) != Some(bytes) {
            differing = differing.saturating_add(1);
            println!("\n{}: differs, or is missing", path.display());
        }
    }
    println!("{} commands, {} files, {differing} differences", commands.len(), files_before.len());
    ensure!(differing == 0, "the builds differ");
    Ok(())
}

fn commands(old: &Path, trace: &Path, plan: &Path) -> Result<Vec<Vec<String>>> {
    let words = |line: &str| -> Vec<String> {
        line.split_whitespace()
            .map(|word| word.replace("TRACE", &trace.to_string_lossy()).replace("PLAN", &plan.to_string_lossy()))
            .collect()
    };
    let mut commands: Vec<Vec<String>> = ONCE.iter().map(|line| words(line)).collect();
    let help = Command::new(old).arg("--help").output()?;
    let help = String::from_utf8(help.stdout)?;
    let verbs = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let verbs = verbs.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    commands.extend(verbs.map(|verb| vec![verb.to_owned(), "--help".to_owned()]));
    for file in FILES.iter().filter(|file| Path::new(file).exists()) {
        let name = Path::new(file).file_name().context("a file without a name")?.to_string_lossy().into_owned();
        let parent = Path::new(file).parent().unwrap_or(Path::new("/")).to_string_lossy().replace('/', "-");
        let name = format!("{name}{parent}");
        let of_file =
            |line: &&str| line.split(' ').map(|word| word.replace("FILE", file).replace("NAME", &name)).collect();
        commands.extend(OF_FILES.iter().map(of_file));
    }
    Ok(commands)
}

fn ask(program: &Path, words: &[String], directory: &Path) -> Result<Answer> {
    let mut command = Command::new(program);
    command.arg0("coldstart");
    command.args(words.iter().map(OsString::from)).current_dir(directory).stdin(Stdio::null());
    command.env("COLDSTART_HISTORY", directory.join("history.sqlite")).env("COLUMNS", "120").env("LC_ALL", "C.UTF-8");
    let output = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    let name = |bytes: Vec<u8>| replaced(bytes, program.as_os_str().as_encoded_bytes());
    Ok(Answer { code: output.status.code(), stdout: name(output.stdout), stderr: name(output.stderr) })
}

/// The text without what differs by nature: the program's own place, and times.
fn replaced(bytes: Vec<u8>, program: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(&bytes).replace(&*String::from_utf8_lossy(program), "coldstart");
    text.lines().map(without_times).collect::<Vec<_>>().join("\n").into_bytes()
}

/// The line with `[TIME]` for `0.12 s`, `31 ms`, `5 us`, and for a number of JSON with many digits, as only times have.
fn without_times(line: &str) -> String {
    if let Some((key, value)) = line.split_once("\": ") {
        let decimals = value.trim_end_matches(',').split_once('.').map_or(0, |(_, decimals)| decimals.len());
        if decimals > 5 && value.trim_end_matches(',').parse::<f64>().is_ok() {
            return format!("{key}\": [TIME]");
        }
    }
    let mut words: Vec<&str> = line.split(' ').collect();
    for index in 1..words.len() {
        let is_unit = |word: &str| ["s", "ms", "us"].contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        let (before, behind) = words.split_at_mut(index);
        let (Some(number), Some(unit)) = (before.last_mut(), behind.first()) else { continue };
        if is_unit(unit) && number.trim_start_matches('(').parse::<f64>().is_ok() {
            *number = "[TIME]";
        }
    }
    words.join(" ")
}

fn files(directory: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in WalkDir::new(directory) {
        let entry = entry?;
        let name = entry.path().strip_prefix(directory)?.to_owned();
        if entry.file_type().is_symlink() {
            files.insert(name, fs_err::read_link(entry.path())?.into_os_string().into_encoded_bytes());
        } else if entry.file_type().is_file() && !name.to_string_lossy().starts_with("history") {
            files.insert(name, fs_err::read(entry.path())?);
        }
    }
    Ok(files)
}

/// Lines that only one of both has.
fn show(before: &[u8], after: &[u8], all: bool) {
    let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
    let limit = if all { usize::MAX } else { 6 };
    let only = |one: &str, other: &str| -> Vec<String> {
        one.lines().filter(|line| !other.lines().any(|found| found == *line)).take(limit).map(str::to_owned).collect()
    };
    only(&before, &after).iter().for_each(|line| println!("  - {line}"));
    only(&after, &before).iter().for_each(|line| println!("  + {line}"));
}
