//! From a recorded working set to a prefetch plan, and its replay.
