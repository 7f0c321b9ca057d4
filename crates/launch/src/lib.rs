//! Starting a program, knowing when it is ready, ending its whole process tree.
