//! Library search: the saving of `coldstart bind`, and the speed of `coldstart resolve`.
//!
//! Two worlds are built: [`world::synthetic`], where the search is nearly all of the start, and [`world::store`], a real
//! program laid out as package managers with a directory for each package do it. In each the plain program is measured
//! beside bound ones in alternating order.
//!
//! Not obvious: times and calls are taken in separate starts. Under strace a start takes ten times as long,
//! and a call that fails costs as much there as one that maps a library. The worlds are left standing in the workshop's
//! directory until the next series, so that a figure which surprises can be looked into.

mod binding;
mod calls;
mod cycles;
pub(super) mod dlopen;
pub(super) mod network;
pub(super) mod plans;
pub(super) mod resolve;
mod start;
pub(super) mod store;
pub(super) mod synthetic;
mod variants;
mod world;

use crate::tools::{Tool, tool};

/// What must be installed to count calls, to build the worlds and to bind as others do.
pub(super) const TOOLS: &[Tool] = &[
    tool("strace", "strace"),
    tool("patchelf", "patchelf"),
    tool("readelf", "binutils"),
    tool("gcc", "gcc"),
    tool("/usr/include/stdio.h", "libc6-dev"),
    tool("ldd", "libc-bin"),
    tool("dpkg", "dpkg"),
    tool(store::PROGRAM, "inkscape"),
    tool("mkfs.ext4", "e2fsprogs"),
    tool("losetup", "mount"),
];

/// What must be installed to resolve the programs.
pub(super) const RESOLVE_TOOLS: &[Tool] = &[
    tool("ldd", "libc-bin"),
    tool(resolve::PROGRAMS[0].1, "zenity"),
    tool(resolve::PROGRAMS[1].1, "inkscape"),
    tool(resolve::PROGRAMS[2].1, "libreoffice-core"),
    tool(resolve::PROGRAMS[3].1, "chromium"),
];
