//! A stream of bytes as a socket hands it out: in pieces whose borders mean nothing.

/// What one byte of value 1 becomes: small inputs can so make heads that are too long.
const LONG: [u8; 1000] = [b'x'; 1000];

/// The stream that an input stands for, and the size of its pieces: at least 1. The first two bytes are the size.
pub fn stream(input: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (size, bytes) = input.split_first_chunk::<2>()?;
    let mut stream = Vec::new();
    for &byte in bytes {
        match byte {
            1 => stream.extend_from_slice(&LONG),
            byte => stream.push(byte),
        }
    }
    Some((stream, usize::from(u16::from_le_bytes(*size)).max(1)))
}
