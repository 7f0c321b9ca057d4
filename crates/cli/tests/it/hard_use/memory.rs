//! A control group without memory: the command is killed or says so, and each file is the old one or the new one, whole.

use std::fs;
use std::process::{Command, Output};

use coldstart_sys::memory_group::{Generation, MemoryGroup};
use coldstart_testing::{Turn, is_root, skip};

use super::room::{Room, succeeded, told};
use super::writers::{Writer, writers};
use super::{Count, asked};
use crate::killed::eventually;

/// The smallest limit, in bytes: a program of some size does not even start.
const SMALLEST: u64 = 1 << 20;
/// Every command has enough with this.
const ENOUGH: u64 = 1 << 30;

/// The limits: from too little upward in small steps, or one of them.
fn limits(turn: usize) -> Vec<u64> {
    if asked().is_none() {
        return vec![SMALLEST << (turn % 6)];
    }
    std::iter::successors(Some(SMALLEST), |limit| Some(limit + limit * 15 / 100).filter(|limit| *limit < ENOUGH))
        .collect()
}

/// Runs a command with at most `limit` bytes.
fn run_with(limit: u64, room: &Room, writer: &Writer) -> Output {
    let group = MemoryGroup::create().unwrap();
    let name = match group.generation() {
        Generation::V1 => "memory.limit_in_bytes",
        Generation::V2 => "memory.max",
    };
    fs::write(group.directory().join(name), limit.to_string()).unwrap();
    // The shell enters the group and becomes the command.
    let mut command = Command::new("sh");
    command.args(["-c", r#"echo $$ > "$0/cgroup.procs" && exec "$@""#]).arg(group.directory());
    command.arg(env!("CARGO_BIN_EXE_coldstart")).args(&writer.words);
    room.surround(&mut command, &room.path(""));
    let output = command.output().unwrap();
    eventually("the end of all that the command had started", &room.mark(), <[String]>::is_empty);
    output
}

fn run_out_of_memory(writer: &Writer, turn: usize, count: &Count) {
    let room = Room::new();
    let mut usual = room.usual(writer);
    for limit in limits(turn) {
        room.prepare(writer);
        usual.begin(&room);
        let output = run_with(limit, &room, writer);
        count.one();
        let what = format!("with {limit} bytes: {}", told(&output));
        usual.holds(writer, &room, &what);
        // A program that it starts may have had no memory.
        if succeeded(writer, &output) && !writer.has_steps() {
            usual.is_done(writer, &room, &what);
            return;
        }
        // 101 is a panic.
        assert!(output.status.code().is_none_or(|code| code != 101), "{}: {what}", writer.name);
        if !usual.is_after(&room) {
            let again = room.run(writer);
            assert!(succeeded(writer, &again), "{}: {what}: the next run: {}", writer.name, told(&again));
        }
        if !succeeded(writer, &output) {
            usual.is_done(writer, &room, &what);
        }
    }
}

fn run_those_out_of_memory(name: &'static str, is_wanted: impl Fn(&Writer) -> bool) {
    if !is_root() {
        return;
    }
    if let Err(error) = MemoryGroup::create() {
        return skip(&format!("control groups: {error}"));
    }
    let count = Count::of(name);
    for (turn, (writer, _)) in writers(is_wanted).iter().enumerate() {
        run_out_of_memory(writer, turn, &count);
    }
}

#[test]
fn without_memory_a_file_is_the_old_or_the_new_one() {
    run_those_out_of_memory("runs without memory", |writer| !writer.starts_programs());
}

#[test]
fn without_memory_a_recording_is_whole_or_not_there() {
    let _turn = Turn::alone("page-cache");
    run_those_out_of_memory("recordings without memory", Writer::starts_programs);
}
