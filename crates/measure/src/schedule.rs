//! The order of the runs: a pure function.
//!
//! States are blocks, each with a number of rounds in which every command runs once; every other round is reversed
//! (A B C, C B A, ...), so that linear drift affects all commands alike and each follows each other equally often.
//!
//! States are not interleaved: dropping all caches makes other programs read their files again for seconds. In their
//! own block all cold runs have the same aftermath, and hot runs have none. A hot run is also the warm-up of the
//! next. Drift between blocks cancels where it matters, in (cold - hot) of one command against another.

use coldstart_profile::measurement::StartState;

/// One counted run to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The state to start from.
    pub state: StartState,
    /// Round within the state, from 1.
    pub round: u32,
    /// Index of the command.
    pub command: usize,
}

/// The order of all counted runs.
pub fn schedule(commands: usize, states: &[StartState], runs: u32) -> Vec<Slot> {
    let mut slots = Vec::new();
    for &state in states {
        for round in 1..=runs {
            let slot = |command| Slot { state, round, command };
            if round % 2 == 1 {
                slots.extend((0..commands).map(slot));
            } else {
                slots.extend((0..commands).rev().map(slot));
            }
        }
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn letters(slots: &[Slot]) -> String {
        slots.iter().map(|slot| char::from(b'A' + u8::try_from(slot.command).unwrap())).collect()
    }

    #[test]
    fn rounds_alternate_and_states_are_blocks() {
        let slots = schedule(3, &[StartState::Cold, StartState::Hot], 3);
        assert_eq!(letters(&slots), "ABCCBAABCABCCBAABC");
        assert!(slots[..9].iter().all(|slot| slot.state == StartState::Cold));
        assert!(slots[9..].iter().all(|slot| slot.state == StartState::Hot));
    }

    proptest! {
        #[test]
        fn even_drift_hits_all_alike(commands in 1usize..6, pairs in 1u32..6) {
            // With an even number of rounds the mean position is the same for all.
            let slots = schedule(commands, &[StartState::Hot], pairs * 2);
            let sum = |command| slots.iter().enumerate().filter(|(_, slot)| slot.command == command).map(|(at, _)| at).sum::<usize>();
            for command in 0..commands {
                prop_assert_eq!(sum(command), sum(0));
            }
        }
    }
}
