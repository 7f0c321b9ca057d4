//! The number that says what an event was: its kind and all its flags in one byte.
//!
//! SQLite keeps 0 to 127 in one byte, and 0 and 1 in none. All combinations there are fit below 102, so the table `kind`
//! holds a row for each, and a question joins it rather than taking bits apart.

use coldstart_profile::trace::{EventKind, FillCause, Touch};

/// Behind the last number of a touch: three ways of access by 32 combinations of flags.
const TOUCHES: u8 = 96;

const EXECUTE: u8 = 1;
const MAJOR: u8 = 2;
const BY_KERNEL: u8 = 4;
const ZERO_FILLED: u8 = 8;
const FIRST_OF_RUN: u8 = 16;
const FLAGS: u8 = 32;

/// How many numbers there are.
pub(crate) const COUNT: u8 = TOUCHES + 6;

/// The number of a kind, below [`COUNT`].
pub(crate) fn number(kind: EventKind) -> u8 {
    match kind {
        EventKind::Touch(touch) => {
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
        EventKind::Function => TOUCHES,
        EventKind::Read => TOUCHES + 1,
        EventKind::Fill(FillCause::Demand) => TOUCHES + 2,
        EventKind::Fill(FillCause::Readahead) => TOUCHES + 3,
        EventKind::Fill(FillCause::Other) => TOUCHES + 4,
        EventKind::Fill(FillCause::Unknown) => TOUCHES + 5,
    }
}

/// The kind of a number; `None` for those from [`COUNT`] on.
pub(crate) fn kind(number: u8) -> Option<EventKind> {
    Some(match number {
        0..TOUCHES => EventKind::Touch(Touch {
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
        TOUCHES => EventKind::Function,
        97 => EventKind::Read,
        98 => EventKind::Fill(FillCause::Demand),
        99 => EventKind::Fill(FillCause::Readahead),
        100 => EventKind::Fill(FillCause::Other),
        101 => EventKind::Fill(FillCause::Unknown),
        COUNT.. => return None,
    })
}

/// The kind in one word.
pub(crate) fn what(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Touch(_) => "touch",
        EventKind::Function => "function",
        EventKind::Read => "read",
        EventKind::Fill(_) => "fill",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_its_kind_and_no_other() {
        for number_there in 0..COUNT {
            assert_eq!(number(kind(number_there).unwrap()), number_there);
        }
        assert!((COUNT..=u8::MAX).all(|beyond| kind(beyond).is_none()));
    }
}
