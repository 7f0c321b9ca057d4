//! What of a file is in memory: residency and eviction.
