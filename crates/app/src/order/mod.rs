//! `order`: from the traces of starts to the order of files and archives.

pub mod files;
mod traced;
pub mod zip;
