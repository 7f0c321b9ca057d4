//! What is known of the ELF objects that a start used: segments, sections, symbols, relocations, functions.
