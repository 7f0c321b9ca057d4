//! Cache states, timed launches, statistics.
