//! Orders of functions: a program is traced, linked again with the list, and its pages are counted.

mod linkers;
mod names;
mod scene;
