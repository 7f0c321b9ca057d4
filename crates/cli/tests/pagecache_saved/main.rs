//! `coldstart pagecache save` and `restore` as their users meet them. One test drops the page cache of the whole machine;
//! all others add to what is there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/cached.rs"]
mod cached;
#[path = "../common/cold.rs"]
mod cold;
mod help;
#[path = "../common/program.rs"]
mod program;
mod refusals;
mod rights;
mod round_trip;
mod scene;
