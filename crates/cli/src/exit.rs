//! Exit codes.
//!
//! 1 is not a failure: it is an answer. `grep` has taught scripts to tell "no" from "broken", so we keep the two apart.

use std::process::ExitCode;

/// How a verb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done.
    Done,
    /// 1: asked and answered no: something stayed in memory, a cache is stale, the change made it slower.
    No,
    /// 2: wrong usage, or something broke. The parser of arguments leaves with the same code.
    Broken,
    /// 126: a launcher found the program and could not start it.
    ProgramNotStarted,
    /// 127: a launcher did not find the program.
    ProgramNotFound,
    /// The exit code of the started program.
    OfProgram(u8),
    /// 130: stopped by a signal; settings were restored.
    Interrupted,
}

impl Exit {
    /// The worse of two, for verbs that take several things: one broken thing outweighs a "no".
    pub(crate) fn worse(self, other: Self) -> Self {
        if self.code() >= other.code() { self } else { other }
    }

    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::No => 1,
            Self::Broken => 2,
            Self::ProgramNotStarted => 126,
            Self::ProgramNotFound => 127,
            Self::OfProgram(code) => code,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn one_broken_thing_outweighs_a_no() {
        assert_eq!(Exit::No.worse(Exit::Broken), Exit::Broken);
        assert_eq!(Exit::Broken.worse(Exit::Done), Exit::Broken);
        assert_eq!(Exit::Done.worse(Exit::No), Exit::No);
    }
}
