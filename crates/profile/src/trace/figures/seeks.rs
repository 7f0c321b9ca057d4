//! Seeks: the distances in a file between consecutively used offsets.
//!
//! The sum grows with the number of events, and jumps between tables and what they describe count each time. So a sum
//! means something only beside another of the same kind of event from an equally complete trace; see
//! [`Basis`](super::Basis).

use std::ops::AddAssign;

use serde::Serialize;

use super::stage::{ByStage, Half, Stage};

/// Steps from one place in a file to the next, in order of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Seeks {
    /// How many; one less than there are places.
    pub steps: u64,
    /// How many of them went forward.
    pub forward_steps: u64,
    /// How many of them went back; what is left stayed where it was.
    pub backward_steps: u64,
    /// How far all forward steps went, in bytes.
    pub forward: u64,
    /// How far all steps back went, in bytes.
    pub backward: u64,
}

impl Seeks {
    /// One step.
    pub fn step(from: u64, to: u64) -> Self {
        Self {
            steps: 1,
            forward_steps: u64::from(to > from),
            backward_steps: u64::from(to < from),
            forward: to.saturating_sub(from),
            backward: from.saturating_sub(to),
        }
    }

    /// Both ways, in bytes.
    pub fn total(&self) -> u64 {
        self.forward.saturating_add(self.backward)
    }
}

impl AddAssign for Seeks {
    fn add_assign(&mut self, other: Self) {
        self.steps = self.steps.saturating_add(other.steps);
        self.forward_steps = self.forward_steps.saturating_add(other.forward_steps);
        self.backward_steps = self.backward_steps.saturating_add(other.backward_steps);
        self.forward = self.forward.saturating_add(other.forward);
        self.backward = self.backward.saturating_add(other.backward);
    }
}

/// Seeks of a whole trace or file, by when they were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StagedSeeks {
    /// All of them.
    pub all: Seeks,
    /// Steps whose both ends are before `main`.
    pub before_main: Seeks,
    /// Steps whose both ends are after the beginning of `main`.
    pub after_main: Seeks,
    /// Steps whose both ends are in the same stage.
    pub stages: ByStage<Seeks>,
    /// Steps from one stage to another: with those of `stages` they make up `all`.
    pub across: Seeks,
}

impl StagedSeeks {
    pub(super) fn add(&mut self, step: Seeks, from: Stage, to: Stage) {
        self.all += step;
        if from == to {
            self.stages[to] += step;
        } else {
            self.across += step;
        }
        match (from.half(), to.half()) {
            (Some(Half::BeforeMain), Some(Half::BeforeMain)) => self.before_main += step,
            (Some(Half::AfterMain), Some(Half::AfterMain)) => self.after_main += step,
            _ => {}
        }
    }
}

impl AddAssign for StagedSeeks {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.before_main += other.before_main;
        self.after_main += other.after_main;
        self.stages += other.stages;
        self.across += other.across;
    }
}

/// The last place of a walk through a file, to measure the step to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Walk(Option<(u64, Stage)>);

impl Walk {
    /// Goes on to a place (an offset in bytes); the step there and the stage it came from, unless it is the first.
    pub(super) fn to(&mut self, offset: u64, stage: Stage) -> Option<(Seeks, Stage)> {
        let before = self.0.replace((offset, stage));
        before.map(|(from, stage)| (Seeks::step(from, offset), stage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_add_up_in_both_directions() {
        let mut seeks = Seeks::default();
        for pair in [0u64, 8192, 4096, 4096, 20_480].windows(2) {
            seeks += Seeks::step(pair[0], pair[1]);
        }
        let expected = Seeks { steps: 4, forward_steps: 2, backward_steps: 1, forward: 8192 + 16_384, backward: 4096 };
        assert_eq!(seeks, expected);
        assert_eq!(seeks.total(), 28_672);
    }

    #[test]
    fn a_step_across_stages_is_of_its_half_only() {
        let mut staged = StagedSeeks::default();
        staged.add(Seeks::step(0, 10), Stage::Relocation, Stage::Initialisers);
        staged.add(Seeks::step(10, 0), Stage::Runtime, Stage::Main);
        staged.add(Seeks::step(0, 3), Stage::Main, Stage::Main);
        assert_eq!((staged.before_main.total(), staged.after_main.total()), (10, 3));
        assert_eq!((staged.across.total(), staged.stages[Stage::Main].total(), staged.all.total()), (20, 3, 23));
    }
}
