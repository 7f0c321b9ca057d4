//! TCP ports for servers that tests start.

use std::fs::OpenOptions;
use std::net::TcpListener;

use rustix::fs::{FlockOperation, flock};

use crate::build_directory;

/// A free port that no other test gets until this process ends, below the range of ephemeral ports, which
/// begins at 32768. `address` is the address to listen on.
///
/// # Panics
/// When none is free.
pub fn distinct_port(address: &str) -> u16 {
    let directory = build_directory().join("ports");
    std::fs::create_dir_all(&directory).unwrap();
    let begin = 20_000 + u16::try_from(std::process::id() * 7 % 12_000).unwrap();
    let is_ours = |port: &u16| {
        let lock = OpenOptions::new().create(true).append(true).open(directory.join(port.to_string())).unwrap();
        let is_locked = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        // The lock lasts as long as the descriptor, which is never closed.
        is_locked && TcpListener::bind((address, *port)).is_ok() && {
            std::mem::forget(lock);
            true
        }
    };
    (begin..32_768).chain(20_000..begin).find(is_ours).expect("a port is free")
}
