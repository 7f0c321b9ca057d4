//! Whether another coldstart measures on this machine at the same time.
//!
//! Concurrent measurements measure each other. Each takes a slot: an abstract Unix socket (`unix(7)`) with a number in its
//! name. It then connects to all slots, and listens at its own until it ends, so that both know, whichever came first.
//!
//! Why a socket and not a locked file: it vanishes with its process, needs no world-writable directory
//! (in `/run/lock` the kernel's `protected_regular` keeps root from opening another user's file), works
//! where every file system is read-only, and accepts connections, which a lock does not. Its names are those of the network
//! namespace. Containers with their own network namespace are not seen, nor would they be with a locked file, since they
//! also have their own `/run`; their effect on a run shows in the counters of processors and disks, which are
//! machine-wide.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The prefix of a slot's name.
const NAME: &str = "coldstart.measuring.";
/// The number of slots; more concurrent measurements are not distinguished.
const PLACES: u32 = 16;
/// The message sent.
const CALL: &[u8] = b"coldstart measures";

/// Our slot, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    place: Option<UnixDatagram>,
    saw_another: bool,
}

impl Turn {
    /// Takes a slot and connects to the others. Never waits and never fails: without such sockets no other is seen.
    pub(crate) fn take() -> Self {
        Self::take_named(NAME)
    }

    fn take_named(name: &str) -> Self {
        let address = |number: u32| SocketAddr::from_abstract_name(format!("{name}{number}")).ok();
        let mut turn = Self { place: None, saw_another: false };
        let mut ours = None;
        for number in 0..PLACES {
            let Some(address) = address(number) else { continue };
            match UnixDatagram::bind_addr(&address) {
                Ok(socket) if socket.set_nonblocking(true).is_ok() => {
                    turn.place = Some(socket);
                    ours = Some(number);
                    break;
                }
                _ => {}
            }
        }
        let Some(caller) = UnixDatagram::unbound().ok().filter(|caller| caller.set_nonblocking(true).is_ok()) else {
            return turn;
        };
        // After having taken ours: of two who begin together at least one sees the other, and the other sees its connection.
        for address in (0..PLACES).filter(|&number| Some(number) != ours).filter_map(address) {
            turn.saw_another |= match caller.send_to_addr(CALL, &address) {
                Ok(_) => true,
                // Its queue is full.
                Err(error) => error.kind() == ErrorKind::WouldBlock,
            };
        }
        turn
    }

    /// Whether another measurement was running when we began, or has begun since.
    pub(crate) fn saw_another(&self) -> bool {
        let mut buffer = [0; CALL.len()];
        let mut called = || {
            let count = self.place.as_ref()?.recv(&mut buffer).ok()?;
            Some(buffer.get(..count) == Some(CALL))
        };
        self.saw_another || called() == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// Names of its own for each test: others measure on this machine.
    fn name(test: &str) -> String {
        format!("coldstart.test.{test}.{}.", std::process::id())
    }

    /// Whether nobody is left there. A child that another test starts holds our sockets from its fork to its exec.
    fn is_left(name: &str) -> bool {
        (0..1000).any(|_| {
            let is_left = !Turn::take_named(name).saw_another();
            if !is_left {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            is_left
        })
    }

    #[test]
    fn alone_nobody_is_seen() {
        let turn = Turn::take_named(&name("alone"));
        assert!(turn.place.is_some() && !turn.saw_another());
        drop(turn);
        assert!(is_left(&name("alone")), "a place that was left is free");
    }

    #[test]
    fn both_see_one_another_whoever_ends_first() {
        let name = name("both");
        let first = Turn::take_named(&name);
        let second = Turn::take_named(&name);
        assert!(second.saw_another() && first.saw_another());
        drop(first);
        // The first place is free, and the second one's is still called at.
        let third = Turn::take_named(&name);
        assert!(third.saw_another());
        drop((second, third));
        assert!(is_left(&name));
    }

    #[test]
    fn many_are_no_error() {
        let name = name("many");
        let turns: Vec<_> = (0..PLACES + 3).map(|_| Turn::take_named(&name)).collect();
        assert!(
            turns.iter().all(Turn::saw_another) || turns.iter().skip(PLACES as usize).any(|turn| turn.place.is_none())
        );
        assert!(turns.iter().skip(1).all(|turn| turn.saw_another));
    }

    #[test]
    fn launched_programs_do_not_inherit_the_place() {
        let name = name("inherit");
        let turn = Turn::take_named(&name);
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        drop(turn);
        assert!(is_left(&name));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
