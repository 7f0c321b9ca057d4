//! `coldstart order`. Functions: a program is traced, linked again with the list, and its pages are counted.

mod appimages;
mod archives;
mod as_fixes;
mod build_systems;
mod checked;
mod compilers;
mod java;
#[cfg(target_arch = "x86_64")]
mod large;
mod linkers;
mod names;
mod odd_appimages;
mod odd_archives;
mod scene;
