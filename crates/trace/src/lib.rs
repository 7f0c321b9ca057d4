//! Recorders: what one start of a program really did.
