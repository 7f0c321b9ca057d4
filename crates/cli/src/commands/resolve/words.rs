//! Text for the loader's rules.

use coldstart_app::resolve::Resolution;
use coldstart_app::text::harmless;
use coldstart_loader::{FoundBy, ProbeFailure, Rules};

/// The rule with the owner of its list, from the view of the requester.
pub(super) fn rule(answer: &Resolution, rule: FoundBy, requester: Option<usize>) -> String {
    let owned = |list: &str, of: usize| match requester {
        Some(requester) if requester == of && of == 0 => format!("{list} of the program"),
        Some(requester) if requester == of => format!("its own {list}"),
        _ if of == 0 => format!("{list} of the program"),
        _ => format!("{list} of {}", answer.file_name(of)),
    };
    match rule {
        FoundBy::Rpath { of } => owned("RPATH", of),
        FoundBy::Runpath { of } => owned("RUNPATH", of),
        FoundBy::LdSoCache => "the loader's cache".to_owned(),
        FoundBy::DefaultDirectory => "default directory".to_owned(),
        other => other.to_string(),
    }
}

/// Why a probe failed.
pub(super) fn failure(failure: &ProbeFailure) -> String {
    match failure {
        ProbeFailure::Absent(std::io::ErrorKind::NotFound) => "no such file".to_owned(),
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
