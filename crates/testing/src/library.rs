//! An ELF file that no linker makes.

/// A small ELF file for x86-64 whose dynamic table needs this name so many times. It has the name once.
pub fn library_that_needs(name: &[u8], count: u64) -> Vec<u8> {
    const HEADERS: u64 = 64 + 2 * 56;
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let dynamic_size = (count + 3) * 16;
    let strings = HEADERS + dynamic_size;
    let size = strings + name.len() as u64 + 1;
    let mut dynamic = vec![5, strings, 10, name.len() as u64 + 1];
    dynamic.extend((0..count).flat_map(|_| [1, 0]));
    dynamic.extend([0, 0]);
    let identity = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9]].concat();
    let segment = |kind: u64, place: u64, size: u64| words(&[kind | 6 << 32, place, place, place, size, size, 8]);
    [
        identity,
        words(&[3 | 62 << 16 | 1 << 32, 0, 64, 0, 64 << 32 | 56 << 48, 2]),
        segment(1, 0, size),
        segment(2, HEADERS, dynamic_size),
        words(&dynamic),
        name.to_vec(),
        vec![0],
    ]
    .concat()
}
