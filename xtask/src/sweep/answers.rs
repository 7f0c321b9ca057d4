//! What a program answers, and whether it still answers the same.
//!
//! A program is asked twice before anything is changed. Answers that contain times, process numbers or addresses are compared
//! without them. Where two plain answers differ even so, only the exit status is compared.

use anyhow::Result;

/// How a program ended, and the beginnings of what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The exit status; 128 and the signal's number, if one killed it.
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// SIGKILL, by which a program ends that has not answered in time.
const KILLED: i32 = 128 + 9;
/// chroot(1) and the shell end so for a program that is there and cannot be started.
const CANNOT_START: i32 = 126;

impl Answer {
    pub(super) fn is_killed(&self) -> bool {
        self.code == KILLED
    }

    fn is_same(&self, other: &Self) -> bool {
        self.code == other.code && is_same(&self.stdout, &other.stdout) && is_same(&self.stderr, &other.stderr)
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one == other || normalised(one) == normalised(other)
}

/// What the unchanged program answers.
pub(super) struct Plain(Vec<Answer>);

impl Plain {
    /// Asks twice; once if there was no answer in time.
    ///
    /// # Errors
    /// Those of `ask`.
    pub(super) fn ask(ask: impl Fn() -> Result<Answer>) -> Result<Self> {
        let first = ask()?;
        if first.is_killed() {
            return Ok(Self(vec![first]));
        }
        Ok(Self(vec![first, ask()?]))
    }

    /// Whether it ended by itself, each time.
    pub(super) fn ends(&self) -> bool {
        !self.0.iter().any(Answer::is_killed)
    }

    /// Whether the kernel let it start. It refuses for instance files with capabilities that this machine gives to nobody, and
    /// chroot(1) ends with 126 then.
    pub(super) fn starts(&self) -> bool {
        !self.0.iter().any(|answer| answer.code == CANNOT_START)
    }

    /// Whether its answers are the same, in words and status.
    pub(super) fn is_repeatable(&self) -> bool {
        self.ends() && self.0.windows(2).all(|two| matches!(two, [one, other] if one.is_same(other)))
    }

    /// How the answer differs, if it does. Of a traced program (`with_stderr` is false) stderr is not compared.
    pub(super) fn difference(&self, answer: &Answer, with_stderr: bool) -> Option<String> {
        let codes: Vec<i32> = self.0.iter().map(|plain| plain.code).collect();
        if !codes.contains(&answer.code) {
            let last = answer.stderr.lines().last().unwrap_or_default();
            return Some(format!("exit status {} became {}: {last}", codes.first()?, answer.code));
        }
        let plain = self.0.first().filter(|_| self.is_repeatable())?;
        let mut streams = vec![("stdout", &plain.stdout, &answer.stdout)];
        if with_stderr {
            streams.push(("stderr", &plain.stderr, &answer.stderr));
        }
        let (name, before, after) = streams.into_iter().find(|(_, before, after)| !is_same(before, after))?;
        Some(format!("{name}: {}", first_difference(&normalised(before), &normalised(after))))
    }

    /// The same after `rounds` more plain answers: a program whose own answers vary sometimes must not be blamed on what was changed.
    ///
    /// # Errors
    /// Those of `ask`.
    pub(super) fn difference_after(
        &mut self,
        answer: &Answer,
        with_stderr: bool,
        rounds: usize,
        ask: impl Fn() -> Result<Answer>,
    ) -> Result<Option<String>> {
        for _ in 0..rounds {
            if self.difference(answer, with_stderr).is_none() {
                return Ok(None);
            }
            self.0.push(ask()?);
        }
        Ok(self.difference(answer, with_stderr))
    }
}

fn first_difference(before: &str, after: &str) -> String {
    let (mut before, mut after) = (before.lines(), after.lines());
    loop {
        match (before.next(), after.next()) {
            (None, None) => return "line ends".to_owned(),
            (one, other) if one != other => {
                return format!("`{}` became `{}`", one.unwrap_or("(end)"), other.unwrap_or("(end)"));
            }
            _ => {}
        }
    }
}

/// The text without what differs from run to run: addresses, times of day, process numbers as GLib (`(name:123):`) and syslog
/// (`name[123]:`) show them.
fn normalised(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = '\n';
    while let Some(character) = rest.chars().next() {
        let replaced = if before.is_alphanumeric() { None } else { variable(rest, before) };
        let length = if let Some((length, name)) = replaced {
            result.push_str(name);
            length
        } else {
            result.push(character);
            character.len_utf8()
        };
        let (passed, remaining) = rest.split_at(length);
        before = passed.chars().last().unwrap_or('\n');
        rest = remaining;
    }
    result
}

/// The length of what varies at the start of the text, and what stands for it.
fn variable(text: &str, before: char) -> Option<(usize, &'static str)> {
    let digits = |text: &str| text.len() - text.trim_start_matches(|character: char| character.is_ascii_digit()).len();
    if let Some(address) = text.strip_prefix("0x") {
        let after = address.trim_start_matches(|character: char| character.is_ascii_hexdigit());
        return (after.len() < address.len()).then_some((text.len() - after.len(), "[ADDR]"));
    }
    let number = digits(text);
    let next = text.get(number..)?;
    if number > 0 && ((before == ':' && next.starts_with("):")) || (before == '[' && next.starts_with("]:"))) {
        return Some((number, "[PID]"));
    }
    let is_two = |place: usize| text.get(place..place + 2).is_some_and(|two| digits(two) == 2);
    let is_colon = |place: usize| text.get(place..=place) == Some(":");
    if is_two(0) && is_colon(2) && is_two(3) && is_colon(5) && is_two(6) {
        let fraction = text.get(8..).and_then(|rest| rest.strip_prefix('.')).map_or(0, |fraction| 1 + digits(fraction));
        return Some((8 + fraction, "[TIME]"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: i32, stdout: &str) -> Answer {
        Answer { code, stdout: stdout.into(), stderr: String::new() }
    }

    #[test]
    fn what_differs_from_run_to_run_is_replaced() {
        assert_eq!(
            normalised("(gjs:12): GLib-WARNING **: 09:08:07.123: at 0x7fFe, 0xyz\n"),
            "(gjs:[PID]): GLib-WARNING **: [TIME]: at [ADDR], 0xyz\n"
        );
        assert_eq!(normalised("polkitd[77]: 1.2.3 [4] 10:20 s\u{e9}0x1"), "polkitd[[PID]]: 1.2.3 [4] 10:20 s\u{e9}0x1");
    }

    #[test]
    fn answers_that_vary_are_compared_by_their_status() {
        let twice = |one: &str, other: &str| Plain(vec![answer(0, one), answer(0, other)]);
        let steady = twice("at 0x1", "at 0x2");
        assert!(steady.is_repeatable());
        assert_eq!(steady.difference(&answer(0, "at 0x3"), true), None);
        assert_eq!(steady.difference(&answer(0, "bad"), true).unwrap(), "stdout: `at [ADDR]` became `bad`");
        let varying = twice("seed 1", "seed 2");
        assert!(!varying.is_repeatable());
        assert_eq!(varying.difference(&answer(0, "seed 3"), true), None);
        assert_eq!(varying.difference(&answer(139, "seed 3"), true).unwrap(), "exit status 0 became 139: ");
    }

    #[test]
    fn a_program_that_varies_seldom_is_not_blamed_on_the_change() {
        let mut plain = Plain(vec![answer(0, "a"), answer(0, "a")]);
        let found = plain.difference_after(&answer(0, "b"), true, 3, || Ok(answer(0, "b"))).unwrap();
        assert_eq!(found, None);
        let mut plain = Plain(vec![answer(0, "a"), answer(0, "a")]);
        let found = plain.difference_after(&answer(0, "b"), true, 3, || Ok(answer(0, "a"))).unwrap();
        assert!(found.is_some());
    }

    #[test]
    fn without_an_answer_in_time_it_is_asked_once() {
        let plain = Plain::ask(|| Ok(answer(KILLED, ""))).unwrap();
        assert!(!plain.ends() && plain.starts() && plain.0.len() == 1);
        assert_eq!(plain.difference(&answer(KILLED, "later"), true), None);
    }
}
