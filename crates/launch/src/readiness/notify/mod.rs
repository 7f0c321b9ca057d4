//! Ready when the program reports it by the protocol of `sd_notify(3)`, as services of systemd do: the exact moment, as
//! the program sees it.
//!
//! The sender is checked, because any process that knows the socket's name may send to it: the message must come from a process of
//! the launch. Pitfall: a sender that has ended before we check, such as `systemd-notify --no-block` in a
//! script. systemd ignores it; we accept it, since only processes that inherited the name from the program know it.

pub(crate) mod message;
mod socket;

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Command;
use std::time::Instant;

use coldstart_sys::datagram::receive_datagram;

use self::message::Message;
use self::socket::NotifySocket;
use super::{Look, Watch};
use crate::error::LaunchError;
use crate::tree::Tree;

/// systemd itself takes 4 KiB (`NOTIFY_BUFFER_MAX`) and ignores what is longer.
const LONGEST_MESSAGE: usize = 64 * 1024;
/// Messages read in a row: a program that floods us must not keep us from the clock.
const MESSAGES_AT_ONCE: usize = 256;
/// How often the process table is searched for a sender. The table is not a snapshot: a sender whose parent ends while
/// we read may be missing, as with daemons.
const LOOKS_FOR_SENDER: usize = 3;

/// Variables of our own service manager (`sd_watchdog_enabled(3)`, `sd_listen_fds(3)`). A program that
/// found them would ping a missing watchdog, or use sockets that it does not have.
const OUR_MANAGERS: [&str; 5] = ["WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"];

pub(crate) struct NotifyWatch {
    socket: Option<NotifySocket>,
    buffer: Vec<u8>,
    last_message: Option<String>,
    /// A sender of READY=1 outside the launch.
    stranger: Option<u32>,
}

impl NotifyWatch {
    pub(crate) fn new() -> Self {
        Self { socket: None, buffer: vec![0; LONGEST_MESSAGE], last_message: None, stranger: None }
    }

    /// The next message, with its sender. `None` when there is no more.
    fn receive(&mut self) -> Result<Option<(Message<'_>, Option<u32>)>, LaunchError> {
        let Some(socket) = &self.socket else { return Ok(None) };
        match receive_datagram(socket, &mut self.buffer) {
            Ok(datagram) => {
                let bytes = self.buffer.get(..datagram.length).unwrap_or_default();
                Ok(Some((Message::new(bytes, datagram.is_truncated), datagram.sender)))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(LaunchError::system("read the program's notification", error)),
        }
    }
}

/// Whether a message came from a process of the launch. `None`: from outside our PID namespace, where no process of the program
/// can be.
fn is_of_launch(tree: &Tree, sender: Option<u32>) -> bool {
    let Some(sender) = sender else { return false };
    for _ in 0..LOOKS_FOR_SENDER {
        // If it has ended: see the module's head.
        if tree.has_member(sender) || !coldstart_host::process::exists(sender) {
            return true;
        }
    }
    false
}

impl Watch for NotifyWatch {
    fn prepare(&mut self, command: &mut Command) -> Result<(), LaunchError> {
        let socket = NotifySocket::new()?;
        for name in OUR_MANAGERS {
            // What the user set for the program stays.
            if !command.get_envs().any(|(given, _)| given == name) {
                command.env_remove(name);
            }
        }
        command.env("NOTIFY_SOCKET", socket.path());
        self.socket = Some(socket);
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    fn look(&mut self, look: Look<'_>) -> Result<Option<Instant>, LaunchError> {
        if !look.descriptor_ready {
            return Ok(None);
        }
        let mut moment = look.woken;
        for _ in 0..MESSAGES_AT_ONCE {
            let Some((message, sender)) = self.receive()? else { break };
            let (is_ready, text) = (message.is_ready(), message.excerpt());
            if is_ready && is_of_launch(look.tree, sender) {
                return Ok(Some(moment));
            }
            if is_ready {
                self.stranger = sender.or(Some(0));
            }
            self.last_message = Some(text);
            // The next one may have arrived meanwhile.
            moment = Instant::now();
        }
        Ok(None)
    }

    fn drain(&mut self) {
        for _ in 0..MESSAGES_AT_ONCE {
            if !matches!(self.receive(), Ok(Some(_))) {
                break;
            }
        }
    }

    fn last_seen(&self) -> Option<String> {
        if let Some(stranger) = self.stranger {
            return Some(format!("READY=1 came from process {stranger}, which is not part of the launch"));
        }
        self.last_message.as_ref().map(|message| format!("the last notification was `{message}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_those_who_are_gone_is_taken_and_that_of_strangers_is_not() {
        let tree = Tree::before_launch(false, None).unwrap();
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        assert!(is_of_launch(&tree, Some(gone.id())));
        assert!(!is_of_launch(&tree, Some(std::process::id())));
        assert!(!is_of_launch(&tree, None));
    }
}
