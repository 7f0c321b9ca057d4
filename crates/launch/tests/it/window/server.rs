//! A display of a test's own, and questions to it that are independent of the code under test.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

pub(super) use coldstart_testing::skip;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, EventMask, Window};
use x11rb::rust_connection::RustConnection;

use crate::common::no_display_is_taken;

/// Whether a program is in `PATH`; skips the test if not.
pub(super) fn has(program: &str) -> bool {
    let found = coldstart_launch::find_program(program.as_ref(), std::env::var_os("PATH").as_deref(), None).is_ok();
    if !found {
        skip(&format!("{program} is not installed"));
    }
    found
}

/// An X server without a screen, ended when dropped.
pub(super) struct Server {
    process: Child,
    display: String,
}

impl Server {
    /// Keeps its state when nobody is connected, unless told otherwise. `None`: skipped.
    pub(super) fn start(arguments: &[&str]) -> Option<Self> {
        if !has("Xvfb") {
            return None;
        }
        let _turn = no_display_is_taken();
        let mut process = Command::new("Xvfb")
            .args(["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", "1024x768x24"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut number = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut number).unwrap();
        let number: u16 = number.trim().parse().expect("Xvfb tells its number");
        Some(Self { process, display: format!(":{number}") })
    }

    pub(super) fn display(&self) -> &str {
        &self.display
    }

    pub(super) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn connect(&self) -> RustConnection {
        RustConnection::connect(Some(&self.display)).unwrap().0
    }

    /// The windows with this name, each with whether it is the root's child.
    pub(super) fn windows(&self, name: &str) -> Vec<(Window, bool)> {
        let connection = self.connect();
        let root = connection.setup().roots[0].root;
        let mut found = Vec::new();
        let mut parents = vec![root];
        while let Some(parent) = parents.pop() {
            let Ok(tree) = connection.query_tree(parent).unwrap().reply() else { continue };
            for child in tree.children {
                let named = connection.get_property(false, child, AtomEnum::WM_NAME, AtomEnum::ANY, 0, 64).unwrap();
                if named.reply().is_ok_and(|named| named.value == name.as_bytes()) {
                    found.push((child, parent == root));
                }
                parents.push(child);
            }
        }
        found
    }

    /// Whether a window manager has taken charge.
    pub(super) fn is_managed(&self) -> bool {
        let connection = self.connect();
        let root = connection.setup().roots[0].root;
        let attributes = connection.get_window_attributes(root).unwrap().reply().unwrap();
        attributes.all_event_masks.contains(EventMask::SUBSTRUCTURE_REDIRECT)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
