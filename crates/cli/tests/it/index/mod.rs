//! `coldstart index`: real programs with and without it, in all circumstances of the table in docs/index.md.

mod any;
mod guile;
mod images;
pub(crate) mod installed;
mod node;
mod perl;
mod places;
mod python;
mod python_changes;
mod ruby;
pub(crate) mod scene;
mod table;
mod verbs;
