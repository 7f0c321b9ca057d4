use std::process::{Command, Stdio};

use super::*;

/// Follows a shell's script and returns what was seen, and the status of the first process.
fn follow(script: &str, meet: impl Fn(&Tracer, u32, Stop) -> bool + Sync) -> Vec<Stop> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let pending = traced(&mut command).unwrap();
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let (tracer, _) = pending.seize().unwrap().unwrap();
            let mut stops = Vec::new();
            loop {
                match tracer.look().unwrap() {
                    Waited::AllGone => return stops,
                    Waited::Nothing => std::thread::yield_now(),
                    Waited::Stopped(thread, stop) => {
                        stops.push(stop);
                        if meet(&tracer, thread, stop) {
                            continue;
                        }
                        match stop {
                            Stop::Ended(_) => {}
                            Stop::Signal(signal) => tracer.resume(thread, signal).unwrap(),
                            Stop::Group => tracer.leave_stopped(thread).unwrap(),
                            _ => tracer.resume(thread, 0).unwrap(),
                        }
                    }
                }
            }
        });
        let spawned = command.spawn();
        drop(command);
        let stops = follower.join().unwrap();
        // The tracer has reaped it already.
        assert!(spawned.unwrap().wait().is_err());
        stops
    })
}

fn last_status(stops: &[Stop]) -> Option<std::process::ExitStatus> {
    stops.iter().rev().find_map(|stop| if let Stop::Ended(status) = stop { Some(*status) } else { None })
}

#[test]
fn a_program_runs_as_if_alone() {
    let stops = follow("/bin/true; (exit 3); kill -USR1 $$", |_, _, _| false);
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(last_status(&stops).unwrap().signal(), Some(libc::SIGUSR1));
    assert!(stops.contains(&Stop::Signal(libc::SIGUSR1)));
    assert!(stops.contains(&Stop::Event(Event::Exec)));
    assert!(
        stops.iter().filter(|stop| matches!(stop, Stop::Event(Event::Fork | Event::Vfork | Event::Clone))).count() >= 2
    );
}

#[test]
fn calls_have_numbers_and_results() {
    let exits = std::sync::Mutex::new(Vec::new());
    follow("cd /no/such/folder; exit 0", |tracer, thread, stop| {
        if stop == Stop::Syscall {
            exits.lock().unwrap().push(tracer.syscall(thread).unwrap().unwrap().point);
        }
        false
    });
    let exits = exits.into_inner().unwrap();
    let number = libc::SYS_chdir.cast_unsigned();
    let place =
        exits.iter().position(|point| matches!(point, SyscallPoint::Entry { number: this, .. } if *this == number));
    let missing = i64::from(-libc::ENOENT);
    assert_eq!(exits.get(place.unwrap() + 1), Some(&SyscallPoint::Exit { value: missing, is_error: true }));
}

#[test]
fn a_stopped_process_stays_stopped_until_it_is_continued() {
    // Continued again and again, until it is gone: the first time may come before it has stopped.
    let stops = follow("while sleep 0.2 && kill -CONT $$; do :; done & kill -STOP $$; exit 5", |_, _, _| false);
    assert!(stops.contains(&Stop::Group), "{stops:?}");
    let codes: Vec<_> =
        stops.iter().filter_map(|stop| if let Stop::Ended(status) = stop { status.code() } else { None }).collect();
    assert!(codes.contains(&5), "{stops:?}");
}

#[test]
fn a_failed_spawn_ends_the_waiting() {
    let mut command = Command::new("/bin/true");
    command.current_dir("/no/such/folder");
    let pending = traced(&mut command).unwrap();
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| pending.seize().unwrap().is_none());
        assert!(command.spawn().is_err());
        drop(command);
        assert!(follower.join().unwrap());
    });
}

#[test]
fn killed_processes_are_told() {
    let stops = follow("while :; do :; done", |tracer, thread, stop| {
        if stop == Stop::Event(Event::Exec) {
            tracer.kill(thread);
            return true;
        }
        false
    });
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(last_status(&stops).unwrap().signal(), Some(libc::SIGKILL));
}

#[test]
fn names_end_at_unmapped_pages() {
    let name = c"a name";
    assert_eq!(read_name(std::process::id(), name.as_ptr() as u64).unwrap(), "a name");
    assert!(read_name(std::process::id(), 1).is_err());
    assert!(read_name(std::process::id(), u64::MAX).is_err());
}
