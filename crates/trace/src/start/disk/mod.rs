//! What a start asked of files: names, reads, what came from the disk and why.
