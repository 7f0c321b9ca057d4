//! `coldstart order`. Functions: a program is traced, linked again with the list, and its pages are counted.

mod appimages;
mod archives;
mod checked;
mod compilers;
mod linkers;
mod names;
mod scene;
