//! Ready when the first window is mapped on an X display: for graphical programs.
//!
//! Pitfall: the window manager reparents a program's window into a frame and maps it there, which
//! the root window's events do not report. So each new window is watched itself from its creation.
//!
//! The first `MapNotify` of a window of the launched processes counts: also for a splash screen, a menu, a
//! tray icon or an error dialog, and for windows that bypass the window manager
//! (override-redirect). Invisible windows do not count: input-only windows (`InputOnly`), and those of one
//! pixel until they are made larger. A window outside of the screen counts, because window managers move it in without
//! mapping it again. Mapping comes before painting. A window that is destroyed before we could ask for its owner
//! is ignored.
//!
//! A program that hands its work to a running process (a browser or editor with an open instance) never
//! becomes ready by its own window: it exits, and that is the result. The same holds for containers whose processes descend
//! from a daemon. Sandboxes that start theirs as descendants (bubblewrap, flatpak) work.
//!
//! Wayland is not supported: its compositor does not report other clients' windows. See [`display`] for how programs are
//! kept from using it.

mod connection;
mod display;
mod owner;
mod problem;
mod seen;

use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Command};
use std::time::Instant;

use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ChangeWindowAttributesAux, ConnectionExt as _, EventMask, MapState, Window, WindowClass,
};

use self::connection::{XConnection, lost, or_gone};
use self::owner::{Owner, Owners};
use self::seen::{Seen, Size};
use super::{Look, Watch};
use crate::error::LaunchError;
use crate::tree::Tree;

pub use self::problem::DisplayError;

pub(crate) struct WindowWatch {
    named: Option<String>,
    session: Option<Session>,
}

impl WindowWatch {
    /// `named`: the display to watch and to pass to the program; `None` for the program's own.
    pub(crate) fn new(named: Option<String>) -> Self {
        Self { named, session: None }
    }
}

impl Watch for WindowWatch {
    fn prepare(&mut self, command: &mut Command) -> Result<(), LaunchError> {
        let display = display::choose(self.named.as_deref(), command)?;
        let (connection, owners) = connection::open(&display, &|connection| {
            for screen in &connection.setup().roots {
                select(connection, screen.root, EventMask::SUBSTRUCTURE_NOTIFY)?;
            }
            // The selection is in force when a later request is answered.
            Owners::of(connection)
        })?;
        self.session = Some(Session { display, connection, owners, seen: Seen::default() });
        Ok(())
    }

    fn started(&mut self, child: &mut Child) -> Result<(), LaunchError> {
        if let Some(session) = &mut self.session {
            session.owners.launched(child.id());
        }
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.session.as_ref().map(|session| session.connection.stream().as_fd())
    }

    fn look(&mut self, look: Look<'_>) -> Result<Option<Instant>, LaunchError> {
        match &mut self.session {
            Some(session) if look.descriptor_ready => session.look(look.woken, look.tree),
            _ => Ok(None),
        }
    }

    /// The display need not buffer events that we no longer read.
    fn drain(&mut self) {
        self.session = None;
    }
}

/// A display being watched.
struct Session {
    display: String,
    connection: XConnection,
    owners: Owners,
    seen: Seen,
}

impl Session {
    fn look(&mut self, woken: Instant, tree: &Tree) -> Result<Option<Instant>, LaunchError> {
        let mut moment = woken;
        let mut events = Vec::new();
        loop {
            // Process pending events before sending a query, which takes time.
            while let Some(event) = self.connection.poll_for_event().map_err(|error| lost(&self.display, error))? {
                events.push(event);
            }
            if events.is_empty() {
                return Ok(None);
            }
            for event in events.drain(..) {
                self.take(&event, moment, tree)?;
                if let Some(ready) = self.seen.ready() {
                    return Ok(Some(ready));
                }
            }
            moment = Instant::now();
        }
    }

    fn take(&mut self, event: &Event, moment: Instant, tree: &Tree) -> Result<(), LaunchError> {
        match event {
            Event::CreateNotify(created) => self.meet(created.window, tree),
            Event::MapNotify(mapped) => {
                if !self.seen.knows(mapped.window) {
                    // Reparented to the root from inside another window.
                    self.meet(mapped.window, tree)?;
                }
                self.seen.mapped(mapped.window, moment);
                self.ask_again(mapped.window, tree)
            }
            Event::ConfigureNotify(configured) => {
                let size = Size { width: configured.width, height: configured.height };
                self.seen.resized(configured.window, size, moment);
                Ok(())
            }
            Event::UnmapNotify(unmapped) => {
                self.seen.unmapped(unmapped.window);
                Ok(())
            }
            Event::DestroyNotify(destroyed) => {
                self.seen.destroyed(destroyed.window);
                Ok(())
            }
            // Including errors about windows that were destroyed before our request arrived.
            _ => Ok(()),
        }
    }

    /// Selects a new window's own events, then queries it: in this order, or its mapping could fall in between.
    fn meet(&mut self, window: Window, tree: &Tree) -> Result<(), LaunchError> {
        let Self { display, connection, owners, seen } = self;
        let lost = |error| lost(display, error);
        select(connection, window, EventMask::STRUCTURE_NOTIFY).map_err(lost)?;
        let attributes = connection.get_window_attributes(window).map_err(lost)?;
        let geometry = connection.get_geometry(window).map_err(lost)?;
        let process = owners.process(connection, window).map_err(lost)?;
        let attributes = or_gone(attributes.reply()).map_err(lost)?;
        let geometry = or_gone(geometry.reply()).map_err(lost)?;
        let answered = Instant::now();
        let process = process.map(|process| or_gone(process.reply())).transpose().map_err(lost)?.flatten();
        let (Some(attributes), Some(geometry)) = (attributes, geometry) else {
            return Ok(());
        };
        let owner = owners.owner(process.as_ref(), tree);
        let size = Size { width: geometry.width, height: geometry.height };
        seen.created(window, attributes.class != WindowClass::INPUT_ONLY, owner, size);
        if attributes.map_state != MapState::UNMAPPED {
            seen.mapped(window, answered);
            self.ask_again(window, tree)?;
        }
        Ok(())
    }

    /// Reads a mapped window's owner from its properties when the display could not tell: programs have set them by
    /// the time they map it.
    fn ask_again(&mut self, window: Window, tree: &Tree) -> Result<(), LaunchError> {
        if !self.seen.is_orphan(window) {
            return Ok(());
        }
        let owner = self.owners.by_properties(&self.connection, window).map_err(|error| lost(&self.display, error))?;
        if let Some(process) = owner
            && self.owners.is_ours(process, tree)
        {
            self.seen.adopted(window, Owner::Launch);
        }
        Ok(())
    }
}

fn select(connection: &XConnection, window: Window, events: EventMask) -> Result<(), x11rb::errors::ConnectionError> {
    let selection = ChangeWindowAttributesAux::new().event_mask(events);
    let cookie = connection.change_window_attributes(window, &selection)?;
    // An error arrives as an event; a destroyed window is normal.
    drop(cookie);
    Ok(())
}
