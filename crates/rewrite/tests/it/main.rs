//! What the planners make of real files, and what is refused; results as they get to their places.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod apply;
mod bind_local;
mod changed_since;
mod lower_alignment;
mod pack_odd;
mod pack_order;
mod pack_refused;
mod prove_packed;
mod prove_search_planned;
mod pure_virtual;
mod replace;
mod replace_kept;
mod replace_killed;
mod replace_refused;
mod replace_scene;
mod rewritten_scene;
#[path = "../../../prove/tests/it/scene/mod.rs"]
mod scene;
mod search;
#[path = "../../../prove/tests/it/search_scene/mod.rs"]
mod search_scene;
mod stub;
