//! Ready when a page of ours, whose address the program is given, is on the screen: for browsers.
//!
//! The page's script takes the moment by the browser's own clock and reports it afterwards. A pitfall is to
//! take the report's arrival instead: while Firefox starts, a request from a page waits some 100 to 250 ms in its main
//! process. So the arrival counts only where the page's moment cannot be believed; see [`clocks`] for when it is.
//!
//! What "shown" means, and where it is taken from, is told in `page.html`. Compared with the pixels of a virtual screen
//! (`examples/page_precision.rs`), Chromium tells the moment to a few milliseconds; Firefox tells when it painted, and we
//! add one frame. While Firefox's main process is busy its window may follow later than that, which no page can see.
//!
//! A browser that hands the address to another that already runs, and exits, is not ready: that was not its start, and the
//! launch is over when nobody of it is alive. Give it a profile of its own (`--no-remote --profile DIR`,
//! `--user-data-dir=DIR`). Proxies do not matter: browsers ask loopback addresses directly unless told otherwise.
//! With `privacy.resistFingerprinting` Firefox rounds its clock to as much as 100 ms, and so is the moment.

pub(crate) mod address;
mod answer;
mod clocks;
mod connection;
pub(crate) mod exchange;
mod request;
mod server;
pub(crate) mod site;

use std::os::fd::BorrowedFd;
use std::process::Child;
use std::time::Instant;

use self::address::{Address, with_address};
use self::clocks::Clocks;
use self::server::Server;
use super::{Look, Watch};
use crate::command_line::CommandLine;
use crate::error::LaunchError;

pub(crate) struct PageWatch {
    /// From the moment at which the command line is known.
    server: Option<Server>,
    at_launch: Option<Clocks>,
}

impl PageWatch {
    pub(crate) fn new() -> Self {
        Self { server: None, at_launch: None }
    }
}

impl Watch for PageWatch {
    fn command_line(&mut self, given: &CommandLine) -> Result<Option<CommandLine>, LaunchError> {
        let refused = |error| LaunchError::system("serve the page that tells readiness", error);
        let listener = Server::listener().map_err(refused)?;
        let address = Address::of(&listener).map_err(refused)?;
        let replaced = with_address(given, &address.url())
            .ok_or_else(|| LaunchError::NoPageArgument { program: given.program.clone() })?;
        self.server = Some(Server::new(listener, &address).map_err(refused)?);
        Ok(Some(replaced))
    }

    fn started(&mut self, _child: &mut Child) -> Result<(), LaunchError> {
        self.at_launch = Some(Clocks::read());
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.server.as_ref().map(Server::descriptor)
    }

    fn look(&mut self, look: Look<'_>) -> Result<Option<Instant>, LaunchError> {
        let (Some(server), Some(at_launch)) = (&mut self.server, &self.at_launch) else { return Ok(None) };
        if look.descriptor_ready {
            server
                .serve(look.woken)
                .map_err(|error| LaunchError::system("serve the page that tells readiness", error))?;
        }
        Ok(server.report().map(|report| clocks::moment(report, at_launch, &Clocks::read())))
    }

    fn drain(&mut self) {
        if let Some(server) = &mut self.server {
            // The program is being ended: nobody needs an answer that we cannot give.
            let _ = server.serve(Instant::now());
        }
    }

    fn last_seen(&self) -> Option<String> {
        // The two are mended in different places: at the command line, and in the browser.
        let was_asked_for = self.server.as_ref()?.was_asked_for();
        Some(
            if was_asked_for {
                "the page was asked for, but never told that it was shown"
            } else {
                "nobody asked for the page"
            }
            .to_owned(),
        )
    }
}
