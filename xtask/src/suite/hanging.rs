//! What a test waits for that does not end: its processes, where each thread is in the kernel, and the calls that led there.

use std::fmt::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use coldstart_host::process::{ProcessFiles, numbers};

use super::run::wait_until;
use crate::kept_output::KeptOutput;

/// How long gdb may take for one process.
const LONGEST_LOOK: Duration = Duration::from_secs(30);
/// After so long gdb is not asked about further ones.
const LONGEST_LOOKS: Duration = Duration::from_secs(60);
/// Of so many processes at most: a test may fork without end.
const MOST_PROCESSES: usize = 16;
/// Of so many other processes at most, the latest first.
const MOST_OTHERS: usize = 40;
/// Characters of a command line.
const LONGEST_LINE: usize = 300;
/// Lines of a thread's kernel stack.
const KERNEL_FRAMES: usize = 8;
/// Lines of gdb's, of all threads of a process.
const FRAMES: usize = 160;

/// Describes this process and all that descend from it; of others, which may have been left behind and keep a pipe open, the names.
pub(super) fn describe(process: u32) -> String {
    let mut text = String::new();
    let begin = Instant::now();
    let family = with_descendants(process);
    for &number in family.iter().take(MOST_PROCESSES) {
        in_kernel(&mut text, number);
        if begin.elapsed() < LONGEST_LOOKS {
            let _ = writeln!(text, "{}", calls(number));
        }
    }
    let others = numbers().unwrap_or_default().into_iter().rev().filter(|number| !family.contains(number));
    // The kernel's own threads have no command line.
    let others = others.map(|number| (number, command_line(number))).filter(|(_, words)| !words.is_empty());
    for (number, words) in others.take(MOST_OTHERS) {
        let _ = writeln!(text, "beside it, process {number}: {words}");
    }
    text
}

/// Its beginning, if there is one.
fn command_line(number: u32) -> String {
    let words = ProcessFiles::of(number).arguments();
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ").chars().take(LONGEST_LINE).collect()
}

/// Parents before their children.
fn with_descendants(process: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = numbers()
        .unwrap_or_default()
        .into_iter()
        .filter_map(|number| Some((number, ProcessFiles::of(number).stat()?.parent)))
        .collect();
    let mut found = vec![process];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(number, _)| *number));
        at += 1;
    }
    found
}

/// The process's command line, and where each of its threads is.
fn in_kernel(text: &mut String, number: u32) {
    let files = ProcessFiles::of(number);
    let _ = writeln!(text, "process {number} ({}): {}", files.name().display(), command_line(number));
    let threads = std::fs::read_dir(files.at("task")).into_iter().flatten().flatten();
    for thread in threads.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        let of_thread = ProcessFiles::of_thread(number, thread);
        let _ = writeln!(text, "  thread {thread}: {}", kernel_stack(&of_thread));
    }
}

/// Where a process or thread waits in the kernel.
fn kernel_stack(files: &ProcessFiles) -> String {
    let state = files.stat().map_or('?', |stat| char::from(stat.state));
    let stack = std::fs::read_to_string(files.at("stack"));
    stack.map_or_else(
        |error| format!("{state}, its stack is unknown: {error}"),
        |stack| format!("{state} {}", stack.lines().take(KERNEL_FRAMES).collect::<Vec<_>>().join(" ")),
    )
}

/// What gdb says of each thread of a process, or why it does not.
fn calls(number: u32) -> String {
    let told = ask_gdb(number).unwrap_or_else(|error| format!("gdb: {error:#}"));
    // "ptrace: Operation not permitted.", where it may not look.
    let is_told = |line: &&str| ["#", "Thread ", "ptrace:", "gdb:"].iter().any(|begin| line.starts_with(begin));
    told.lines().filter(is_told).take(FRAMES).map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn ask_gdb(number: u32) -> Result<String> {
    let output = KeptOutput::new()?;
    let mut gdb = Command::new("gdb");
    gdb.args(["--nx", "--batch", "--pid", &number.to_string()]).env("DEBUGINFOD_URLS", "");
    gdb.args(["--eval-command", "set print frame-arguments none", "--eval-command", "thread apply all backtrace"]);
    let mut child = gdb.stdin(Stdio::null()).stdout(output.stream()?).stderr(output.stream()?).spawn()?;
    if wait_until(&mut child, Instant::now() + LONGEST_LOOK)?.is_none() {
        child.kill()?;
        wait_until(&mut child, Instant::now() + LONGEST_LOOK)?;
    }
    Ok(output.text()?)
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    #[test]
    fn what_a_process_and_its_child_wait_for_is_told() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & wait"]);
        let mut child = command.spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while with_descendants(child.id()).len() < 2 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let processes = with_descendants(child.id());
        let said = describe(child.id());
        for process in processes.iter().rev().filter_map(|&number| Pid::from_raw(number.cast_signed())) {
            let _ = kill_process(process, Signal::KILL);
        }
        child.wait().unwrap();
        assert_eq!(processes.len(), 2, "{said}");
        assert!(said.contains("sleep 1000") && said.contains("  thread ") && said.contains("beside it"), "{said}");
        assert!(["#0 ", "ptrace:", "gdb:"].iter().any(|answer| said.contains(answer)), "{said}");
    }
}
