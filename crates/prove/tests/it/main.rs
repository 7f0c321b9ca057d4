//! The proof against files that are the same object, and against each kind of damage to them. No planner is needed for that:
//! a writer by hand makes the outputs. What the planners make is proven in the tests of `coldstart-rewrite`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod same;
mod scene;
mod search;
mod search_bytes;
mod search_damage;
mod search_pointers;
mod search_scene;
mod small;
