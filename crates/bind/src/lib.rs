//! From what a program loads to a program that finds every library at the first try.

pub mod audit;
