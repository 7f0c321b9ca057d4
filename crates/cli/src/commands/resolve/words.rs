//! The loader's rules in words.

use coldstart_app::resolve::Resolution;
use coldstart_app::text::harmless;
use coldstart_loader::{FoundBy, ProbeFailure, Rules};

/// The rule with whose list it is, as the asking object sees it.
pub(super) fn rule(answer: &Resolution, rule: FoundBy, requester: Option<usize>) -> String {
    let whose = |list: &str, of: usize| match requester {
        Some(requester) if requester == of && of == 0 => format!("{list} of the program"),
        Some(requester) if requester == of => format!("its own {list}"),
        _ if of == 0 => format!("{list} of the program"),
        _ => format!("{list} of {}", answer.file_name(of)),
    };
    match rule {
        FoundBy::Rpath { of } => whose("RPATH", of),
        FoundBy::Runpath { of } => whose("RUNPATH", of),
        FoundBy::LdSoCache => "the loader's cache".to_owned(),
        FoundBy::DefaultDirectory => "default directory".to_owned(),
        other => other.to_string(),
    }
}

/// Why a file did not do, in words.
pub(super) fn failure(failure: &ProbeFailure) -> String {
    match failure {
        ProbeFailure::Absent(std::io::ErrorKind::NotFound) => "not there".to_owned(),
        other => harmless(other.to_string().as_bytes()),
    }
}

/// The loader's kind and release.
pub(super) fn loader(answer: &Resolution) -> String {
    let surroundings = &answer.start.surroundings;
    match (surroundings.environment.rules, surroundings.build.release) {
        (Rules::Musl, _) => "musl".to_owned(),
        (Rules::Glibc, Some(release)) => format!("glibc 2.{release}"),
        (Rules::Glibc, None) => "glibc".to_owned(),
    }
}
