//! The sign: what a start reads of an image before anything else. It lies in front of EROFS' superblock, in bytes that EROFS leaves to others.

use super::{IndexError, MAGIC, MOST_FRONT, VERSION};

/// Size of a sign in bytes.
pub(crate) const SIZE: usize = 32;

/// Where the hot range begins, and the length of the index's front part there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sign {
    /// Offset of the hot range.
    pub(crate) hot: u64,
    /// Length of the front part in bytes.
    pub(crate) front: u64,
}

impl Sign {
    pub(crate) fn encode(self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.hot.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.front.to_le_bytes());
        bytes
    }

    /// Reads the sign in an image's first bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, IndexError> {
        let word = |from: usize| bytes.get(from..).and_then(<[u8]>::first_chunk).copied().map(u64::from_le_bytes);
        if !is_sign(bytes) {
            return Err(IndexError::NotAnIndex);
        }
        let version = bytes.get(8..).and_then(<[u8]>::first_chunk).copied().map_or(0, u32::from_le_bytes);
        match version {
            VERSION => {}
            newer if newer > VERSION => return Err(IndexError::NewerVersion(newer)),
            older => return Err(IndexError::OlderVersion(older)),
        }
        match (word(16), word(24)) {
            (Some(hot), Some(front)) if front <= MOST_FRONT && hot < 1 << 44 => Ok(Self { hot, front }),
            _ => Err(IndexError::Damaged("the place of its front part")),
        }
    }
}

/// Whether some bytes begin as an image with a sign does.
pub(crate) fn is_sign(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_each_cut_is_refused() {
        for sign in
            [Sign { hot: 8192, front: 160 }, Sign { hot: (1 << 44) - 1, front: MOST_FRONT }, Sign { hot: 0, front: 0 }]
        {
            let bytes = sign.encode();
            assert_eq!(Sign::decode(&bytes), Ok(sign));
            for length in 0..SIZE {
                assert!(Sign::decode(&bytes[..length]).is_err(), "cut to {length}");
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let with = |at: usize, bytes: &[u8]| {
            let mut sign = Sign { hot: 8192, front: 160 }.encode();
            sign[at..at + bytes.len()].copy_from_slice(bytes);
            Sign::decode(&sign).unwrap_err()
        };
        assert_eq!(with(0, b"COLD"), IndexError::NotAnIndex);
        assert_eq!(with(8, &(VERSION + 1).to_le_bytes()), IndexError::NewerVersion(VERSION + 1));
        assert_eq!(with(8, &(VERSION - 1).to_le_bytes()), IndexError::OlderVersion(VERSION - 1));
        let elsewhere = IndexError::Damaged("the place of its front part");
        assert_eq!(with(16, &(1u64 << 44).to_le_bytes()), elsewhere);
        assert_eq!(with(24, &(MOST_FRONT + 1).to_le_bytes()), elsewhere);
    }
}
