//! `/proc/PID/auxv`: the auxiliary vector that the kernel passed to the program (`proc_pid_auxv(5)`, `getauxval(3)`).

/// Size of a page, in bytes.
pub const AT_PAGESZ: u64 = 6;
/// The loader's base address; 0 without one.
pub const AT_BASE: u64 = 7;
/// The program's entry point, to which the loader jumps when it is done.
pub const AT_ENTRY: u64 = 9;

/// Pairs of words of the program's word size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuxiliaryVector {
    bytes: Vec<u8>,
    word: usize,
}

impl AuxiliaryVector {
    /// From the bytes of the file, in this machine's byte order.
    pub fn new(bytes: Vec<u8>, is_64_bit: bool) -> Self {
        Self { bytes, word: if is_64_bit { 8 } else { 4 } }
    }

    /// The value of a key such as [`AT_ENTRY`].
    pub fn get(&self, key: u64) -> Option<u64> {
        self.bytes.chunks_exact(self.word.saturating_mul(2)).find_map(|pair| {
            let (found, value) = pair.split_at_checked(self.word)?;
            (number(found)? == key).then(|| number(value))?
        })
    }
}

fn number(word: &[u8]) -> Option<u64> {
    match word.try_into() {
        Ok(word) => Some(u64::from_ne_bytes(word)),
        Err(_) => word.try_into().ok().map(|word| u64::from(u32::from_ne_bytes(word))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::ProcessFiles;
    use proptest::prelude::*;

    #[test]
    fn words_have_either_size() {
        let long: Vec<u8> =
            [6u64, 4096, 9, 0x1234_5678_9abc, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(AuxiliaryVector::new(long, true).get(AT_ENTRY), Some(0x1234_5678_9abc));
        let short: Vec<u8> = [6u32, 4096, 9, 0x0804_8000, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(AuxiliaryVector::new(short.clone(), false).get(AT_ENTRY), Some(0x0804_8000));
        assert_eq!(AuxiliaryVector::new(short[..15].to_vec(), false).get(AT_ENTRY), None);
        assert_eq!(AuxiliaryVector::new(Vec::new(), true).get(AT_ENTRY), None);
    }

    #[test]
    fn this_process_was_told_the_size_of_a_page() {
        let own = ProcessFiles::own().auxiliary_vector(cfg!(target_pointer_width = "64"));
        assert_eq!(own.get(AT_PAGESZ), Some(rustix::param::page_size() as u64));
        assert!(own.get(AT_ENTRY).is_some_and(|entry| entry != 0));
    }

    proptest! {
        #[test]
        fn hostile_vectors_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..100), key in any::<u64>(), is_64_bit in any::<bool>()) {
            let _ = AuxiliaryVector::new(bytes, is_64_bit).get(key);
        }
    }
}
