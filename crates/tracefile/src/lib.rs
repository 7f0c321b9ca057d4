//! The trace file (`*.coldtrace`): one SQLite database that needs no other file to be read.
