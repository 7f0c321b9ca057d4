//! Images of real trees, judged by independent readers: fsck.erofs and the kernel.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::single_range_in_vec_init, reason = "lists of holes")]

mod compressed;
mod damaged;
mod foreign;
mod front;
mod hot_range;
mod killed;
mod random_trees;
mod refused;
mod round_trip;
mod scene;
