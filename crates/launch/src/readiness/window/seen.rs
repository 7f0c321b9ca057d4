//! The windows seen since the launch, and when the first of the program's became visible: a decision without a display.

use std::collections::HashMap;
use std::time::Instant;

use x11rb::protocol::xproto::Window;

use super::owner::Owner;

/// Width and height in pixels, without the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) width: u16,
    pub(super) height: u16,
}

impl Size {
    /// Windows of one pixel carry selections, focus or properties and are invisible.
    fn can_be_seen(self) -> bool {
        self.width > 1 || self.height > 1
    }
}

/// The windows seen since the launch. Unknown windows are ignored: they can be destroyed at any time.
#[derive(Debug, Default)]
pub(super) struct Seen {
    windows: HashMap<Window, Facts>,
}

#[derive(Debug)]
struct Facts {
    owner: Owner,
    has_pixels: bool,
    size: Size,
    is_mapped: bool,
    visible_since: Option<Instant>,
}

impl Facts {
    /// The later of being mapped and being large enough makes it visible.
    fn changed(&mut self, moment: Instant) {
        if !(self.is_mapped && self.size.can_be_seen()) {
            self.visible_since = None;
        } else if self.visible_since.is_none() {
            self.visible_since = Some(moment);
        }
    }
}

impl Seen {
    pub(super) fn knows(&self, window: Window) -> bool {
        self.windows.contains_key(&window)
    }

    /// A new window. `has_pixels`: it is not input-only.
    pub(super) fn created(&mut self, window: Window, has_pixels: bool, owner: Owner, size: Size) {
        let facts = Facts { owner, has_pixels, size, is_mapped: false, visible_since: None };
        self.windows.insert(window, facts);
    }

    pub(super) fn mapped(&mut self, window: Window, moment: Instant) {
        if let Some(facts) = self.windows.get_mut(&window) {
            facts.is_mapped = true;
            facts.changed(moment);
        }
    }

    pub(super) fn resized(&mut self, window: Window, size: Size, moment: Instant) {
        if let Some(facts) = self.windows.get_mut(&window) {
            facts.size = size;
            facts.changed(moment);
        }
    }

    pub(super) fn unmapped(&mut self, window: Window) {
        if let Some(facts) = self.windows.get_mut(&window) {
            facts.is_mapped = false;
            facts.visible_since = None;
        }
    }

    /// Its ID may be reused from now on.
    pub(super) fn destroyed(&mut self, window: Window) {
        self.windows.remove(&window);
    }

    /// Whether this window's owner is unknown.
    pub(super) fn is_orphan(&self, window: Window) -> bool {
        self.windows.get(&window).is_some_and(|facts| facts.owner == Owner::Untold)
    }

    pub(super) fn adopted(&mut self, window: Window, owner: Owner) {
        if let Some(facts) = self.windows.get_mut(&window) {
            facts.owner = owner;
        }
    }

    /// When the program's first window became visible.
    pub(super) fn ready(&self) -> Option<Instant> {
        let ours = self.windows.values().filter(|facts| facts.owner == Owner::Launch && facts.has_pixels);
        ours.filter_map(|facts| facts.visible_since).min()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LARGE: Size = Size { width: 200, height: 100 };
    const PIXEL: Size = Size { width: 1, height: 1 };

    fn moments() -> [Instant; 3] {
        let first = Instant::now();
        [0, 1, 2].map(|seconds| first + Duration::from_secs(seconds))
    }

    #[test]
    fn only_visible_windows_of_the_launch_count() {
        let [first, second, third] = moments();
        let mut seen = Seen::default();
        seen.created(1, true, Owner::Stranger, LARGE);
        seen.created(2, false, Owner::Launch, LARGE);
        seen.created(3, true, Owner::Untold, LARGE);
        for window in [1, 2, 3, 4] {
            seen.mapped(window, first);
        }
        assert_eq!(seen.ready(), None);
        seen.created(5, true, Owner::Launch, LARGE);
        assert_eq!(seen.ready(), None);
        seen.mapped(5, second);
        // Told a second time by the root window.
        seen.mapped(5, third);
        assert_eq!(seen.ready(), Some(second));
        assert!(seen.is_orphan(3) && !seen.is_orphan(5));
        seen.adopted(3, Owner::Launch);
        assert_eq!(seen.ready(), Some(first));
    }

    #[test]
    fn a_pixel_counts_when_it_has_grown() {
        let [first, second, third] = moments();
        let mut seen = Seen::default();
        seen.created(1, true, Owner::Launch, PIXEL);
        seen.mapped(1, first);
        assert_eq!(seen.ready(), None);
        seen.resized(1, LARGE, second);
        seen.resized(1, Size { width: 1, ..LARGE }, third);
        assert_eq!(seen.ready(), Some(second));
        seen.unmapped(1);
        assert_eq!(seen.ready(), None);
    }

    #[test]
    fn a_number_given_away_anew_is_another_window() {
        let [first, ..] = moments();
        let mut seen = Seen::default();
        seen.created(1, true, Owner::Launch, LARGE);
        seen.destroyed(1);
        seen.mapped(1, first);
        assert!(!seen.knows(1) && seen.ready().is_none());
        seen.created(1, true, Owner::Stranger, LARGE);
        seen.mapped(1, first);
        assert_eq!(seen.ready(), None);
    }
}
