//! What the planners make of real files, and what is refused; results as they get to their places.
//!
//! Tests that start programs which they have just written, or end processes, stand in files of their own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod apply;
mod changed_since;
#[path = "../../../prove/tests/it/just_written/mod.rs"]
mod just_written;
mod pack_odd;
mod pack_order;
mod pack_refused;
mod prove_packed;
mod prove_search_planned;
mod replace_kept;
mod replace_refused;
mod replace_scene;
mod rewritten_scene;
#[path = "../../../prove/tests/it/scene/mod.rs"]
mod scene;
mod search;
#[path = "../../../prove/tests/it/search_scene/mod.rs"]
mod search_scene;
