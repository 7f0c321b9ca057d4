//! `resolve`: how the dynamic loader finds each library of a program, and why. Nothing is run.

mod dlopen_notes;
mod json_form;
mod known_later;
mod notable;
mod resolution;
mod rules;

use std::path::PathBuf;

use coldstart_startup::StartOptions;
use serde::Serialize;

use crate::error::AppError;
use crate::observer::Observer;

pub use dlopen_notes::{Alternative, DlopenHint, DlopenNotes, Found};
pub use known_later::{LaterSources, Opened};
pub use notable::LateDirectory;
pub use resolution::{Mentions, Resolution};
pub use rules::kind;

/// The name and version of the JSON schema.
pub const SCHEMA: &str = "coldstart.resolve/1";

/// What to resolve, and under which conditions.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Programs or libraries: paths, or names on `PATH`.
    pub programs: Vec<PathBuf>,
    /// The conditions of the simulated start.
    pub start: StartOptions,
    /// Sources for the files that they open later.
    pub later: LaterSources,
}

/// What was found out.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The programs that could be examined, in argument order.
    pub programs: Vec<Resolution>,
}

impl Answer {
    /// Whether all of them would start.
    pub fn is_complete(&self) -> bool {
        self.programs.iter().all(Resolution::is_complete)
    }
}

/// Follows the loader's rules for each program. Errors for single programs go to the observer.
///
/// # Errors
/// If a source for files opened later cannot be read.
pub fn resolve(options: &Options, observer: &dyn Observer) -> Result<Answer, AppError> {
    let known_later = known_later::gather(&options.later)?;
    let mut programs = Vec::new();
    for program in &options.programs {
        match Resolution::find(program, &options.start, known_later.as_deref(), observer) {
            Ok(resolution) => programs.push(resolution),
            Err(error) => observer.error(error),
        }
    }
    Ok(Answer { programs })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::sync::Mutex;

    use super::*;

    /// Keeps the errors that it is told of.
    #[derive(Default)]
    struct Listener(Mutex<Vec<AppError>>);

    impl Observer for Listener {
        fn error(&self, error: AppError) {
            self.0.lock().unwrap().push(error);
        }
    }

    #[test]
    fn a_program_is_looked_at_where_another_cannot_be() {
        let programs = vec![PathBuf::from("no-such-program-anywhere"), std::env::current_exe().unwrap()];
        let listener = Listener::default();
        let answer = resolve(&Options { programs, ..Options::default() }, &listener).unwrap();
        let errors = listener.0.into_inner().unwrap();
        assert!(errors.iter().any(|error| error.sentence().contains("no-such-program-anywhere")), "{errors:?}");
        let [program] = answer.programs.as_slice() else { panic!("{answer:?}") };
        assert!(answer.is_complete());
        let library = program.libraries().next().unwrap();
        let name = OsStr::new(library.path.file_name().unwrap());
        let [index] = program.mentions(name).objects[..] else { panic!("{name:?}") };
        let chain = program.chain(index);
        assert_eq!((chain.first(), chain.last()), (Some(&0), Some(&index)));
        assert!(program.mentions(OsStr::new("libnothing.so")).objects.is_empty());
        let json = serde_json::to_value(&answer).unwrap();
        assert_eq!(json["programs"][0]["objects"][index]["rule"], library.found_by.name(), "{json}");
    }

    #[test]
    fn a_plan_that_cannot_be_read_ends_it() {
        let later = LaterSources { plan: Some(PathBuf::from("/no/such/plan")), ..LaterSources::default() };
        assert!(resolve(&Options { later, ..Options::default() }, &Listener::default()).is_err());
    }
}
