//! gdb, perf and core dumps of a program whose library is packed while its debug information lies in a file of its own,
//! made from the original, as distributions ship it.
//!
//! Both sides run at the same place: paths and, without randomisation, addresses then are the same, too.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::ground::Ground;
use super::process::{said, stdout, without_addresses};
use super::table::Table;
use crate::tools::{Tool, tool};

pub(super) const TOOLS: &[Tool] = &[
    tool("cc", "gcc"),
    tool("gdb", "gdb"),
    tool("gcore", "gdb"),
    tool("perf", "linux-perf"),
    tool("eu-unstrip", "elfutils"),
    tool("objcopy", "binutils"),
    tool("addr2line", "binutils"),
];

/// With 4,096 pointers to pack, a callback, and time to be sampled in.
const LIBRARY: &str = r#"
#define FOUR(x) x, x, x, x
#define MANY(x) FOUR(FOUR(FOUR(x)))
static int cell;
int *const pointers[] = { FOUR(FOUR(FOUR(MANY(&cell)))) };
volatile long work_done;
__attribute__((noinline)) long innermost(long rounds)
{
    long sum = 0;
    for (long i = 0; i < rounds; i++) { sum += i ^ work_done; work_done = sum; }
    return sum + *pointers[rounds & 4095];
}
__attribute__((noinline)) long middle(long rounds, void (*then)(void)) { long sum = innermost(rounds); then(); return sum; }
__attribute__((noinline)) long entrance(long rounds, void (*then)(void)) { return middle(rounds, then) + 1; }
"#;

const PROGRAM: &str = r#"
#include <stdio.h>
#include <unistd.h>
long entrance(long rounds, void (*then)(void));
static int waits;
static void then(void) { puts("ready"); fflush(stdout); if (waits) pause(); }
int main(int count, char **arguments)
{
    (void)arguments;
    waits = count > 1;
    alarm(60); /* Should a debugger lose sight of it. */
    return entrance(waits ? 3 : 300000000, then) == 0;
}
"#;

pub(super) fn make(ground: &Ground, table: &mut Table) -> Result<()> {
    let stage = Stage::build(ground, table)?;
    table.compare("gdb: breakpoint, backtrace, arguments", |packed| {
        stage.set(packed)?;
        // The library is not loaded yet when the breakpoint is set.
        let script = [
            "set breakpoint pending on",
            "break innermost",
            "run again",
            "backtrace",
            "info locals",
            "print pointers[7]",
            "finish",
        ];
        let mut gdb = ground.command("gdb");
        gdb.args(["-nx", "-batch", "-iex", "set debuginfod enabled off"]);
        script.iter().for_each(|line| {
            gdb.args(["-ex", line]);
        });
        let told = stdout(gdb.arg(&stage.program))?;
        ensure!(told.contains("in middle (") && told.contains("library.c:"), "no backtrace with lines: {told}");
        Ok(without_addresses(&told))
    });
    table.compare("addr2line", |packed| {
        stage.set(packed)?;
        let symbols = stdout(ground.command("nm").arg("-D").arg(&stage.library))?;
        let addresses = symbols.lines().filter(|line| line.contains(" T ")).filter_map(|line| line.split(' ').next());
        let lines = stdout(ground.command("addr2line").arg("-f").arg("-e").arg(&stage.library).args(addresses))?;
        ensure!(lines.contains("library.c:"), "no lines: {lines}");
        Ok(lines)
    });
    for way in ["fp", "dwarf"] {
        table.compare(&format!("perf record --call-graph {way}, chains into the library"), |packed| {
            stage.set(packed)?;
            perf(ground, &stage, way, &ground.side(packed))
        });
    }
    table.compare("gcore, then eu-unstrip -n: build ids in the dump", |packed| {
        stage.set(packed)?;
        core_dump(ground, &stage)
    });
    // It wants tables of the same size in both files, which no packer can leave; debuggers do not.
    stage.set(true)?;
    let mut unstrip = ground.command("eu-unstrip");
    unstrip
        .arg("-o")
        .arg(ground.directory.join("whole.so"))
        .arg(&stage.library)
        .arg(ground.directory.join("libwork.debug"));
    table.told("eu-unstrip: the packed and the original's debug file made one", &said(&mut unstrip)?);
    Ok(())
}

/// The program and the place of its library.
struct Stage<'a> {
    ground: &'a Ground,
    program: PathBuf,
    library: PathBuf,
}

impl<'a> Stage<'a> {
    fn build(ground: &'a Ground, table: &mut Table) -> Result<Self> {
        let library = ground.directory.join("libwork.so");
        let debug = ground.directory.join("libwork.debug");
        let program = ground.directory.join("program");
        let options = ["-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"];
        let cc = |file: &str, text: &str| -> Result<std::process::Command> {
            let mut cc = ground.command("cc");
            cc.args(options).arg(ground.write(file, text)?);
            Ok(cc)
        };
        stdout(cc("library.c", LIBRARY)?.args(["-fPIC", "-shared", "-Wl,--build-id", "-o"]).arg(&library))?;
        stdout(cc("program.c", PROGRAM)?.arg(&library).arg("-o").arg(&program))?;
        stdout(ground.command("objcopy").arg("--only-keep-debug").arg(&library).arg(&debug))?;
        let link = format!("--add-gnu-debuglink={}", debug.display());
        stdout(ground.command("objcopy").arg("--strip-unneeded").arg(link).arg(&library))?;
        table.told("packed", &ground.copy_files(&[&library])?);
        Ok(Self { ground, program, library })
    }

    /// Puts the original or the packed library in its place.
    fn set(&self, packed: bool) -> Result<()> {
        fs::remove_file(&self.library)?;
        fs::copy(self.ground.side(packed).join("libwork.so"), &self.library)?;
        Ok(())
    }
}

/// Which of the library's functions perf names in most chains, innermost first.
fn perf(ground: &Ground, stage: &Stage<'_>, way: &str, home: &std::path::Path) -> Result<String> {
    let data = ground.directory.join("perf.data");
    let mut record = ground.command("perf");
    record
        .args(["record", "--quiet", "--freq=400", "--call-graph", way, "-o"])
        .arg(&data)
        .arg("--")
        .arg(&stage.program);
    stdout(&mut record)?;
    let script =
        stdout(ground.command("perf").env("HOME", home).args(["script", "-F", "ip,sym,dso", "-i"]).arg(&data))?;
    let chains = script.split("\n\n").map(|chain| {
        let frames = chain.lines().filter(|line| line.contains("libwork.so"));
        let names = frames.filter_map(|line| line.split_whitespace().nth(1)?.split('+').next());
        names.collect::<Vec<_>>().join(" < ")
    });
    let mut counts = std::collections::BTreeMap::new();
    chains.filter(|chain| !chain.is_empty()).for_each(|chain| *counts.entry(chain).or_insert(0_u32) += 1);
    let (chain, _) = counts.iter().max_by_key(|(_, count)| **count).context("no sample in the library")?;
    ensure!(chain.starts_with("innermost"), "perf names no function of the library: {counts:?}");
    Ok(chain.clone())
}

/// What eu-unstrip finds of the library in a dump of the running program, without addresses.
fn core_dump(ground: &Ground, stage: &Stage<'_>) -> Result<String> {
    // Not by our usual command: its process would be the one that waits.
    let mut child = std::process::Command::new(&stage.program).arg("wait").stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
    let dump = ground.directory.join("core");
    let dumped = stdout(ground.command("gcore").arg("-o").arg(&dump).arg(child.id().to_string()));
    child.kill()?;
    child.wait()?;
    dumped?;
    let dump = ground.directory.join(format!("core.{}", child.id()));
    let modules = stdout(ground.command("eu-unstrip").arg("-n").arg(format!("--core={}", dump.display())))?;
    fs::remove_file(&dump)?;
    let module = modules.lines().find(|line| line.contains("libwork.so")).context("the library is not in the dump")?;
    // `0xSTART+0xSIZE BUILD_ID@0xADDRESS FILE DEBUG_FILE NAME`; the size may shrink by packing.
    let fields = module.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
    let build_id = fields.split('@').next().unwrap_or_default();
    ensure!(build_id.len() == 40, "no build id in the dump: {module}");
    Ok(without_addresses(&fields))
}
