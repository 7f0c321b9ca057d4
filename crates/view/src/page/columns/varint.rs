//! Whole numbers in as few bytes as they need (LEB128, as in DWARF 5 section 7.6).

/// The greatest number up to which JavaScript's numbers are exact.
const GREATEST: u64 = 1 << 53;

/// A number that JavaScript can hold exactly: greater ones are cut down.
pub(super) fn exact(number: u64) -> u64 {
    number.min(GREATEST)
}

/// Appends a number.
pub(super) fn varint(number: u64, to: &mut Vec<u8>) {
    let mut rest = exact(number);
    while rest >= 0x80 {
        to.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    to.push(rest as u8);
}

/// Numbers that follow one another closely, as differences to the one before.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    before: u64,
}

impl Deltas {
    /// Appends the next number, which is not less than the one before.
    pub(super) fn ascending(&mut self, number: u64, to: &mut Vec<u8>) {
        let number = exact(number).max(self.before);
        varint(number - self.before, to);
        self.before = number;
    }

    /// Appends the next number, which may be less. Numbers are cut down to 2^52 - 1, so that twice a difference is exact.
    pub(super) fn either_way(&mut self, number: u64, to: &mut Vec<u8>) {
        let number = number.min((GREATEST >> 1) - 1);
        let zigzag = if number >= self.before { (number - self.before) * 2 } else { (self.before - number) * 2 - 1 };
        varint(zigzag, to);
        self.before = number;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All numbers of a column, written apart from the above.
    fn varints(bytes: &[u8]) -> Vec<u64> {
        let mut numbers = Vec::new();
        let (mut number, mut shift) = (0u64, 0);
        for byte in bytes {
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                numbers.push(number);
                (number, shift) = (0, 0);
            }
        }
        assert_eq!(shift, 0, "the last number is cut off");
        numbers
    }

    /// 0, 1, 2, 3 ... to 0, -1, 1, -2 ...
    fn unzigzag(number: u64) -> i64 {
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..300, any::<u64>(), Just(GREATEST), Just(GREATEST - 1), Just(u64::MAX), Just(1 << 52)]
    }

    proptest! {
        #[test]
        fn numbers_come_back(numbers in prop::collection::vec(number(), 0..50)) {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|number| varint(*number, &mut bytes));
            let cut: Vec<u64> = numbers.iter().map(|number| exact(*number)).collect();
            prop_assert_eq!(varints(&bytes), cut);
        }

        #[test]
        fn differences_come_back(mut numbers in prop::collection::vec(number(), 0..50)) {
            let (mut bytes, mut deltas) = (Vec::new(), Deltas::default());
            numbers.iter().for_each(|number| deltas.either_way(*number, &mut bytes));
            let mut sum = 0i64;
            let back: Vec<i64> = varints(&bytes).into_iter().map(|zigzag| { sum += unzigzag(zigzag); sum }).collect();
            let cut: Vec<i64> = numbers.iter().map(|number| (*number).min((1 << 52) - 1) as i64).collect();
            prop_assert_eq!(back, cut);
            prop_assert!(varints(&bytes).iter().all(|zigzag| *zigzag < GREATEST));

            numbers.sort_unstable();
            let (mut bytes, mut deltas) = (Vec::new(), Deltas::default());
            numbers.iter().for_each(|number| deltas.ascending(*number, &mut bytes));
            let mut sum = 0;
            let back: Vec<u64> = varints(&bytes).into_iter().map(|delta| { sum += delta; sum }).collect();
            let cut: Vec<u64> = numbers.iter().map(|number| exact(*number)).collect();
            prop_assert_eq!(back, cut);
        }
    }

    #[test]
    fn what_should_ascend_and_does_not_stays_where_it_was() {
        let (mut bytes, mut deltas) = (Vec::new(), Deltas::default());
        [5, 3, 7].into_iter().for_each(|number| deltas.ascending(number, &mut bytes));
        assert_eq!(bytes, [5, 0, 2]);
    }
}
