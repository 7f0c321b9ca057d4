//! SIGKILL at random instants: each file is the old one or the new one, whole; the next run does all the work and clears away.

use std::time::Duration;

use coldstart_testing::{Random, Turn, kill_after};

use super::room::{Room, succeeded, told};
use super::writers::{Writer, writers};
use super::{Count, tries};
use crate::killed::eventually;

/// Kills for each command where nothing else is asked for.
const USUAL_TRIES: usize = 1;

/// Kills a writer at random instants.
fn kill(writer: &Writer, tries: usize, count: &Count) {
    let seed = tries as u64;
    let mut random = Random::new(seed);
    let room = Room::new();
    let mut usual = room.usual(writer);
    for number in 0..tries {
        room.prepare(writer);
        usual.begin(&room);
        let microseconds = random.below(usual.time.as_micros() as usize + 1);
        let what = format!("kill {number} of seed {seed}, after {microseconds} us of {:?}", usual.time);
        kill_after(&mut room.run_in(&room.path(""), writer), Duration::from_micros(microseconds as u64));
        count.one();
        eventually("the end of all that the command had started", &room.mark(), <[String]>::is_empty);
        usual.holds(writer, &room, &what);
        if !usual.is_after(&room) {
            let again = room.run(writer);
            assert!(succeeded(writer, &again), "{}: {what}: the next run: {}", writer.name, told(&again));
        }
        usual.is_done(writer, &room, &what);
    }
}

fn kill_those(name: &'static str, is_wanted: impl Fn(&Writer) -> bool) {
    let count = Count::of(name);
    for (writer, way) in writers(is_wanted) {
        match way.share(tries(USUAL_TRIES)) {
            0 => {}
            tries => kill(&writer, tries, &count),
        }
    }
}

/// What rewrites programs and libraries.
fn rewrites(writer: &Writer) -> bool {
    matches!(writer.words[0].as_str(), "pack" | "unpack" | "bind" | "unbind" | "ldcache")
}

#[test]
fn a_rewritten_file_is_the_old_or_the_new_one() {
    kill_those("kills of commands that rewrite files", rewrites);
}

#[test]
fn an_output_is_whole_or_not_there() {
    kill_those("kills of commands that write what they read", |writer| !rewrites(writer) && !writer.starts_programs());
}

#[test]
fn what_is_recorded_of_a_program_is_whole_or_not_there() {
    // `speedup` and recordings make files cold.
    let _turn = Turn::alone("page-cache");
    kill_those("kills of commands that start programs", |writer| !rewrites(writer) && writer.starts_programs());
}
