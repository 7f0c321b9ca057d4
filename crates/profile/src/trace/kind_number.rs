//! Encoding of an event's kind with all its flags in one byte.
//!
//! Trace files and pages keep it. All combinations there are fit below 102: SQLite keeps 0 to 127 in one byte (and 0
//! and 1 in none), and a list with a row for each number spares readers taking bits apart.

use super::{EventKind, FillCause, Touch};

/// Behind the last number of a touch: three ways of access by 32 combinations of flags.
const TOUCHES: u8 = 96;

const EXECUTE: u8 = 1;
const MAJOR: u8 = 2;
const BY_KERNEL: u8 = 4;
const ZERO_FILLED: u8 = 8;
const FIRST_OF_RUN: u8 = 16;
const FLAGS: u8 = 32;

impl EventKind {
    /// How many numbers there are.
    pub const NUMBERS: u8 = TOUCHES + 6;

    /// Its number, below [`EventKind::NUMBERS`]. Of touches the sum of 1 execute, 2 major, 4 by the kernel, 8
    /// zero-filled, 16 first of the run, 32 write, 64 not known whether write; 96 function, 97 read, 98 to 101 fill
    /// (demand, readahead, other, unknown).
    pub fn number(self) -> u8 {
        match self {
            Self::Touch(touch) => {
                let access = match touch.write {
                    Some(false) => 0,
                    Some(true) => 1,
                    None => 2,
                };
                let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
                (access * FLAGS)
                    | flag(touch.execute, EXECUTE)
                    | flag(touch.major, MAJOR)
                    | flag(touch.by_kernel, BY_KERNEL)
                    | flag(touch.zero_filled, ZERO_FILLED)
                    | flag(touch.first_of_run, FIRST_OF_RUN)
            }
            Self::Function => TOUCHES,
            Self::Read => TOUCHES + 1,
            Self::Fill(FillCause::Demand) => TOUCHES + 2,
            Self::Fill(FillCause::Readahead) => TOUCHES + 3,
            Self::Fill(FillCause::Other) => TOUCHES + 4,
            Self::Fill(FillCause::Unknown) => TOUCHES + 5,
        }
    }

    /// The kind of a number; `None` for those from [`EventKind::NUMBERS`] on.
    pub fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0..TOUCHES => Self::Touch(Touch {
                write: match number / FLAGS {
                    0 => Some(false),
                    1 => Some(true),
                    _ => None,
                },
                execute: number & EXECUTE != 0,
                major: number & MAJOR != 0,
                by_kernel: number & BY_KERNEL != 0,
                zero_filled: number & ZERO_FILLED != 0,
                first_of_run: number & FIRST_OF_RUN != 0,
            }),
            TOUCHES => Self::Function,
            97 => Self::Read,
            98 => Self::Fill(FillCause::Demand),
            99 => Self::Fill(FillCause::Readahead),
            100 => Self::Fill(FillCause::Other),
            101 => Self::Fill(FillCause::Unknown),
            Self::NUMBERS.. => return None,
        })
    }

    /// In one word: "touch", "function", "read" or "fill".
    pub fn name(self) -> &'static str {
        match self {
            Self::Touch(_) => "touch",
            Self::Function => "function",
            Self::Read => "read",
            Self::Fill(_) => "fill",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_its_kind_and_no_other() {
        for number in 0..EventKind::NUMBERS {
            assert_eq!(EventKind::from_number(number).unwrap().number(), number);
        }
        assert!((EventKind::NUMBERS..=u8::MAX).all(|beyond| EventKind::from_number(beyond).is_none()));
    }
}
