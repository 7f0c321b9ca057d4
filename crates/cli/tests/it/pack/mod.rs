//! `coldstart pack`, `verify` and `unpack` as their users meet them: what is written where, what is said, exit codes.
//!
//! Whether packed files do the same is held elsewhere; here it is enough that they are smaller, and come back as they were.

mod changed;
mod looking_back;
mod one_file;
mod orders;
mod passes;
mod refusals;
mod rights;
mod room;
mod scene;
mod trees;
