//! Two desktops' packages in one image: which of them is "in memory after boot" is decided by what was started, not by what
//! is installed.
//!
//! Not obvious: these are not whole desktops, which take gigabytes and need a system bus, a login and a graphics card. A
//! window manager, a file manager and a terminal bring the toolkit and most libraries that the real session keeps in memory.

use super::{Document, Recipe};

/// Starts a session's programs on the display of the environment, and stays while they run. `$@` are their names.
const SESSION: &str = "#!/bin/sh\nfor program; do \"$program\" & done\nwait\n";

impl Recipe {
    /// The office image's programs, an editor of KDE, and what two sessions consist of.
    pub(super) fn sessions() -> Self {
        let mut recipe = Self::office();
        let gnome = ["metacity", "nautilus", "gnome-terminal", "adwaita-icon-theme"];
        let kde = ["kwin-x11", "dolphin", "konsole", "breeze"];
        let both = ["dbus", "dbus-x11", "kwrite"];
        recipe.packages.extend([&gnome[..], &kde, &both].concat().iter().map(|&name| name.to_owned()));
        recipe.documents.push(Document::new("/root/session.sh", SESSION));
        recipe
    }
}
