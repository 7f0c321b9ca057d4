//! The process that owns a window.
//!
//! The display knows which process opened a connection (X-Resource 1.2, `QueryClientIds`), without the process's
//! cooperation. Its PIDs are those of the server: a program in a sandbox has another PID for itself,
//! and a server in another container has other PIDs for all. So we first query the PID it has for us; where that is
//! not ours, the properties set by programs remain (`_NET_WM_PID` of the Extended Window Manager Hints), which hold
//! only on this host (`WM_CLIENT_MACHINE`).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::cookie::Cookie;
use x11rb::errors::ConnectionError;
use x11rb::protocol::res::{self, ClientIdMask, ClientIdSpec, ConnectionExt as _, QueryClientIdsReply};
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _, Window};

use super::connection::{XConnection, or_gone};
use crate::tree::Tree;

/// How long a process counts as foreign without another check. A check walks `/proc`, and another
/// program may open a window for each word typed there; PIDs are not reused so soon.
const STRANGER_LIMIT: Duration = Duration::from_secs(1);

/// The owner of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A process of the launch.
    Launch,
    /// Another process.
    Stranger,
    /// Unknown to the display; the window's properties may tell.
    Untold,
}

/// Finds the owners of windows.
#[derive(Debug)]
pub(super) struct Owners {
    display_tells: bool,
    net_wm_pid: Option<Atom>,
    host: Vec<u8>,
    launched: Option<u32>,
    /// Foreign processes that were looked up, and when.
    known: HashMap<u32, Option<Instant>>,
}

impl Owners {
    /// Queries the display's capabilities.
    pub(super) fn of(connection: &XConnection) -> Result<Self, ConnectionError> {
        let net_wm_pid = connection.intern_atom(false, b"_NET_WM_PID")?;
        let ours = connection.setup().resource_id_base;
        let display_tells = has_client_ids(connection)?
            && ask(connection, ours)?.and_then(|reply| number(&reply)) == Some(std::process::id());
        Ok(Self {
            display_tells,
            net_wm_pid: or_gone(net_wm_pid.reply())?.map(|reply| reply.atom),
            host: rustix::system::uname().nodename().to_bytes().to_vec(),
            launched: None,
            known: HashMap::new(),
        })
    }

    /// The first process has been started. The display attributes a connection it opened to it, even after it has
    /// passed it to a child and ended.
    pub(super) fn launched(&mut self, process: u32) {
        self.launched = Some(process);
    }

    /// Queries the display for a window's process, where supported.
    pub(super) fn process<'c>(
        &self,
        connection: &'c XConnection,
        window: Window,
    ) -> Result<Option<Cookie<'c, XConnection, QueryClientIdsReply>>, ConnectionError> {
        if !self.display_tells {
            return Ok(None);
        }
        connection.res_query_client_ids(&[spec(window)]).map(Some)
    }

    /// The owner by the display's reply.
    pub(super) fn owner(&mut self, answer: Option<&QueryClientIdsReply>, tree: &Tree) -> Owner {
        let Some(process) = answer.and_then(number) else { return Owner::Untold };
        if self.is_ours(process, tree) {
            return Owner::Launch;
        }
        // It has ended: it opened the connection for a child.
        if coldstart_host::process::exists(process) { Owner::Stranger } else { Owner::Untold }
    }

    /// The process named by the window's properties, if it is one of this host.
    pub(super) fn by_properties(
        &self,
        connection: &XConnection,
        window: Window,
    ) -> Result<Option<u32>, ConnectionError> {
        let Some(net_wm_pid) = self.net_wm_pid else { return Ok(None) };
        let process = connection.get_property(false, window, net_wm_pid, AtomEnum::CARDINAL, 0, 1)?;
        // Up to 256 bytes: names of hosts have at most 64 (`uname(2)`).
        let host = connection.get_property(false, window, AtomEnum::WM_CLIENT_MACHINE, AtomEnum::ANY, 0, 64)?;
        let (process, host) = (or_gone(process.reply())?, or_gone(host.reply())?);
        let process = process.as_ref().and_then(|reply| reply.value32()?.next());
        // Some programs count the final zero in.
        let is_here = host.is_some_and(|reply| reply.value.strip_suffix(b"\0").unwrap_or(&reply.value) == self.host);
        Ok(process.filter(|_| is_here))
    }

    /// Whether a process belongs to the launch.
    pub(super) fn is_ours(&mut self, process: u32, tree: &Tree) -> bool {
        if self.launched == Some(process) {
            return true;
        }
        match self.known.get(&process) {
            Some(None) => return true,
            Some(Some(asked)) if asked.elapsed() < STRANGER_LIMIT => return false,
            _ => {}
        }
        // Twice: a process whose parent ends meanwhile may be seen below nobody.
        let is_ours = tree.has_member(process) || tree.has_member(process);
        self.known.insert(process, (!is_ours).then(Instant::now));
        is_ours
    }
}

fn has_client_ids(connection: &XConnection) -> Result<bool, ConnectionError> {
    if connection.extension_information(res::X11_EXTENSION_NAME)?.is_none() {
        return Ok(false);
    }
    let version = or_gone(connection.res_query_version(1, 2)?.reply())?;
    Ok(version.is_some_and(|version| (version.server_major, version.server_minor) >= (1, 2)))
}

fn ask(connection: &XConnection, window: Window) -> Result<Option<QueryClientIdsReply>, ConnectionError> {
    or_gone(connection.res_query_client_ids(&[spec(window)])?.reply())
}

fn spec(window: Window) -> ClientIdSpec {
    ClientIdSpec { client: window, mask: ClientIdMask::LOCAL_CLIENT_PID }
}

/// The process number; none for clients of other hosts.
fn number(reply: &QueryClientIdsReply) -> Option<u32> {
    reply.ids.first()?.value.first().copied().filter(|&number| number != 0)
}
