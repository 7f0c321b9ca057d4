//! Which test begins next.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::run::Test;

/// Tests that have not begun, and which are under way.
///
/// Tests of one module mostly wait for the same turn, and one that waits holds a job without working. So a module's next test
/// begins only when none of that module is under way, unless only such are left.
pub(super) struct Queue<'a>(Mutex<State<'a>>);

struct State<'a> {
    waiting: Vec<Test<'a>>,
    under_way: Vec<Test<'a>>,
}

impl<'a> Queue<'a> {
    /// The first ones begin first.
    pub(super) fn new(tests: Vec<Test<'a>>) -> Self {
        Self(Mutex::new(State { waiting: tests, under_way: Vec::new() }))
    }

    /// The next test, which is under way from now on; `None` when all have begun.
    pub(super) fn begin(&self) -> Option<Test<'a>> {
        let State { waiting, under_way } = &mut *self.state();
        let is_free = |test: &Test<'_>| !under_way.iter().any(|other| is_of_one_module(test, other));
        let place = waiting.iter().position(is_free).unwrap_or_default();
        let next = (place < waiting.len()).then(|| waiting.remove(place))?;
        under_way.push(next.clone());
        Some(next)
    }

    /// A test that was under way is not any more.
    pub(super) fn end(&self, test: &Test<'_>) {
        let State { under_way, .. } = &mut *self.state();
        if let Some(place) = under_way.iter().position(|other| other == test) {
            under_way.swap_remove(place);
        }
    }

    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_of_one_module(one: &Test<'_>, other: &Test<'_>) -> bool {
    one.binary == other.binary && one.module().is_some() && one.module() == other.module()
}

#[cfg(test)]
mod tests {
    use super::super::binaries::Binary;
    use super::*;

    fn tests<'a>(binary: &'a Binary, names: &[&str]) -> Vec<Test<'a>> {
        names.iter().map(|name| Test { binary, name: (*name).to_owned() }).collect()
    }

    #[test]
    fn tests_of_a_module_begin_one_after_the_other_while_there_are_others() {
        let binary = Binary::for_tests("cli", true);
        let queue = Queue::new(tests(&binary, &["spark::one", "spark::two", "guide::one", "spark::three"]));
        let first = queue.begin().unwrap();
        let begun: Vec<String> = std::iter::from_fn(|| queue.begin()).map(|test| test.name).collect();
        assert_eq!(
            (first.name.as_str(), &begun[..]),
            ("spark::one", &["guide::one", "spark::two", "spark::three"].map(String::from)[..])
        );
        let queue = Queue::new(tests(&binary, &["spark::one", "spark::two", "guide::one"]));
        let first = queue.begin().unwrap();
        queue.end(&first);
        assert_eq!(queue.begin().unwrap().name, "spark::two", "the module is free again");
    }

    #[test]
    fn unit_tests_and_tests_without_a_module_begin_as_they_stand() {
        for (is_integration, names) in
            [(false, ["spark::one", "spark::two", "other::one"]), (true, ["one", "two", "three"])]
        {
            let binary = Binary::for_tests("cli", is_integration);
            let queue = Queue::new(tests(&binary, &names));
            let begun: Vec<String> = std::iter::from_fn(|| queue.begin()).map(|test| test.name).collect();
            assert_eq!(begun, names);
        }
    }
}
