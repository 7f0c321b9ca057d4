//! Ready when our page, whose address is passed to the program, is on the screen: for browsers.
//!
//! The page's script takes the time from the browser's clock and reports it afterwards. Pitfall: the
//! report's arrival is late: while Firefox starts, a request from a page waits some 100 to 250 ms in its main
//! process. So the arrival counts only where the page's time is not plausible; see [`clocks`].
//!
//! What "shown" means, and how it is detected, is explained in `page.html`. Compared with the pixels of a virtual screen
//! (`examples/page_precision.rs`), Chromium is accurate to a few milliseconds; Firefox reports when it painted, and we
//! add one frame. While Firefox's main process is busy its window may follow later than that, which no page can see.
//!
//! A browser that passes the address to a running instance, and exits, is not ready: that was not its start, and the
//! launch ends with its last process. Give it its own profile (`--no-remote --profile DIR`,
//! `--user-data-dir=DIR`). Proxies do not matter: by default browsers access loopback addresses directly.
//! With `privacy.resistFingerprinting` Firefox rounds its clock to as much as 100 ms, and so is the result.

mod clocks;
mod placeholder;
pub(crate) mod site;

use std::os::fd::{AsFd, BorrowedFd};
use std::process::Child;
use std::time::Instant;

use coldstart_http::Server;

use self::clocks::Clocks;
use self::placeholder::with_address;
use self::site::ReadySite;
use super::{Look, Watch};
use crate::command_line::CommandLine;
use crate::error::LaunchError;

pub(crate) struct PageWatch {
    /// From the moment at which the command line is known.
    server: Option<Server<ReadySite>>,
    at_launch: Option<Clocks>,
}

impl PageWatch {
    pub(crate) fn new() -> Self {
        Self { server: None, at_launch: None }
    }
}

impl Watch for PageWatch {
    fn command_line(&mut self, given: &CommandLine) -> Result<Option<CommandLine>, LaunchError> {
        let server = Server::new(ReadySite::default())
            .map_err(|error| LaunchError::system("serve the page that tells readiness", error))?;
        let replaced = with_address(given, &server.url())
            .ok_or_else(|| LaunchError::NoPageArgument { program: given.program.clone() })?;
        self.server = Some(server);
        Ok(Some(replaced))
    }

    fn started(&mut self, _child: &mut Child) -> Result<(), LaunchError> {
        self.at_launch = Some(Clocks::read());
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.server.as_ref().map(AsFd::as_fd)
    }

    fn look(&mut self, look: Look<'_>) -> Result<Option<Instant>, LaunchError> {
        let (Some(server), Some(at_launch)) = (&mut self.server, &self.at_launch) else { return Ok(None) };
        if look.descriptor_ready {
            server
                .serve(look.woken)
                .map_err(|error| LaunchError::system("serve the page that tells readiness", error))?;
        }
        Ok(server.site().report().map(|report| clocks::moment(report, at_launch, &Clocks::read())))
    }

    fn drain(&mut self) {
        if let Some(server) = &mut self.server {
            // The program is being ended: no response is needed.
            let _ = server.serve(Instant::now());
        }
    }

    fn last_seen(&self) -> Option<String> {
        // The two have different fixes: at the command line, and in the browser.
        let was_asked_for = self.server.as_ref()?.site().was_asked_for();
        Some(
            if was_asked_for {
                "the page was requested, but never reported that it was shown"
            } else {
                "the page was never requested"
            }
            .to_owned(),
        )
    }
}
