//! Following a program from stop to stop, in a process of our own.
