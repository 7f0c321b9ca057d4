//! Values in Python's own serial form, which it reads fastest.
//!
//! Source: `Python/marshal.c`, the types that all versions of Python 3 read. Text is UTF-8 with surrogates, by which Python stands for
//! bytes of file names that are no UTF-8 (PEP 383).

/// Writes values one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Marshal {
    out: Vec<u8>,
}

impl Marshal {
    /// The bytes.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.out
    }

    /// An integer.
    pub(crate) fn int(&mut self, value: i64) -> &mut Self {
        if let Ok(small) = i32::try_from(value) {
            self.out.push(b'i');
            self.out.extend(small.to_le_bytes());
            return self;
        }
        // Digits of 15 bits, the sign in their number.
        let mut rest = value.unsigned_abs();
        let mut digits = Vec::new();
        while rest != 0 {
            digits.push((rest & 0x7fff) as u16);
            rest >>= 15;
        }
        let count = digits.len() as i32;
        self.out.push(b'l');
        self.out.extend((if value < 0 { -count } else { count }).to_le_bytes());
        self.out.extend(digits.iter().flat_map(|digit| digit.to_le_bytes()));
        self
    }

    /// `True` or `False`.
    pub(crate) fn bool(&mut self, value: bool) -> &mut Self {
        self.out.push(if value { b'T' } else { b'F' });
        self
    }

    /// Bytes.
    pub(crate) fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.counted(b's', value.len());
        self.out.extend(value);
        self
    }

    /// Text, from a file name's bytes.
    pub(crate) fn text(&mut self, name: &[u8]) -> &mut Self {
        let text = text_of_name(name);
        self.counted(b'u', text.len());
        self.out.extend(text);
        self
    }

    /// The beginning of a tuple of this many values, which must follow.
    pub(crate) fn tuple(&mut self, count: usize) -> &mut Self {
        self.counted(b'(', count);
        self
    }

    /// The beginning of a dictionary: keys and values follow in turn, then [`end`](Self::end).
    pub(crate) fn dictionary(&mut self) -> &mut Self {
        self.out.push(b'{');
        self
    }

    /// The end of a dictionary.
    pub(crate) fn end(&mut self) -> &mut Self {
        self.out.push(b'0');
        self
    }

    fn counted(&mut self, kind: u8, count: usize) {
        self.out.push(kind);
        // Python refuses what is larger than i32 by its own check of the number.
        self.out.extend(i32::try_from(count).unwrap_or(-1).to_le_bytes());
    }
}

/// UTF-8, in which each byte that is none is the surrogate U+DC00 plus the byte.
fn text_of_name(name: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        text.extend(chunk.valid().as_bytes());
        for &byte in chunk.invalid() {
            text.extend([0xed, 0xb0 | (byte >> 6), 0x80 | (byte & 0x3f)]);
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn python_reads_what_is_written() {
        let mut value = Marshal::default();
        value.tuple(5).int(-1).int(1 << 40).int(-(1 << 62)).bool(true).dictionary();
        value.text("ä".as_bytes()).bytes(b"\0\xff").text(b"m\xff\x80").tuple(1).bool(false).end();
        if !coldstart_testing::is_there("python3") {
            return coldstart_testing::skip("python3 is not installed");
        }
        let script = "import marshal, sys; sys.stdout.write(ascii(marshal.load(sys.stdin.buffer)))";
        let mut child =
            Command::new("python3").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&value.finish()).unwrap();
        let output = child.wait_with_output().unwrap();
        let expected =
            r"(-1, 1099511627776, -4611686018427387904, True, {'\xe4': b'\x00\xff', 'm\udcff\udc80': (False,)})";
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }
}
