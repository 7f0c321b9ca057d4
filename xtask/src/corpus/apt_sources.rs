//! This machine's Debian package sources, from its own apt configuration.
//!
//! A mirror is never named in our code: whoever builds the corpus uses the one they already trust.
//! apt reads two syntaxes, one-line `.list` and deb822 `.sources` (sources.list(5)); both are understood here, as far
//! as is needed to find the entries of one Debian release.

use std::path::{Path, PathBuf};

/// One place to fetch one suite from, as `deb URI SUITE main` would say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// The archive's address, as written in the configuration.
    pub(super) uri: String,
    /// The suite, for instance `bookworm-security`.
    pub(super) suite: String,
}

impl Source {
    /// The entry as a line of sources.list.
    pub(crate) fn line(&self) -> String {
        format!("deb {} {} main", self.uri, self.suite)
    }
}

/// The sources of `release`, its updates and its security fixes among apt's `(name, text)` configuration files.
///
/// Only these three exact suites with the component `main` count, so that a vendor's `vendor-bookworm` is left alone.
/// Duplicates are removed; the release itself comes first.
pub(super) fn release_sources(release: &str, files: &[(PathBuf, String)]) -> Vec<Source> {
    let suites = [release.to_owned(), format!("{release}-updates"), format!("{release}-security")];
    let all: Vec<Source> = files
        .iter()
        .flat_map(|(name, text)| match name.extension().and_then(|extension| extension.to_str()) {
            Some("sources") => deb822_sources(text),
            _ => one_line_sources(text),
        })
        .collect();
    let mut chosen: Vec<Source> = Vec::new();
    for suite in &suites {
        for source in all.iter().filter(|source| &source.suite == suite) {
            if !chosen.contains(source) {
                chosen.push(source.clone());
            }
        }
    }
    chosen
}

/// apt's configuration files under `etc_apt` (normally `/etc/apt`), in apt's order; unreadable ones are left out.
pub(super) fn read_configuration(etc_apt: &Path) -> Vec<(PathBuf, String)> {
    let mut names: Vec<PathBuf> = vec![etc_apt.join("sources.list")];
    if let Ok(directory) = fs_err::read_dir(etc_apt.join("sources.list.d")) {
        let mut parts: Vec<PathBuf> = directory
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                matches!(path.extension().and_then(|extension| extension.to_str()), Some("list" | "sources"))
            })
            .collect();
        parts.sort();
        names.extend(parts);
    }
    names.into_iter().filter_map(|name| fs_err::read_to_string(&name).ok().map(|text| (name, text))).collect()
}

fn one_line_sources(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let Some(rest) = line.strip_prefix("deb").filter(|rest| rest.starts_with([' ', '\t'])) else { continue };
        // Options stand in brackets and may hold blanks: `deb [ arch=amd64 signed-by=... ] URI SUITE main`.
        let rest = match rest.trim_start().strip_prefix('[') {
            Some(options) => options.split_once(']').map_or("", |(_, after)| after),
            None => rest,
        };
        let mut words = rest.split_whitespace();
        let (Some(uri), Some(suite)) = (words.next(), words.next()) else { continue };
        if words.any(|component| component == "main") {
            sources.push(Source { uri: uri.to_owned(), suite: suite.to_owned() });
        }
    }
    sources
}

fn deb822_sources(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut stanza: Vec<(String, String)> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            sources.extend(stanza_sources(&stanza));
            stanza.clear();
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = stanza.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((field, value)) = line.split_once(':') {
            stanza.push((field.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    sources
}

fn stanza_sources(stanza: &[(String, String)]) -> Vec<Source> {
    let words = |field: &str| -> Vec<&str> {
        stanza.iter().filter(|(name, _)| name == field).flat_map(|(_, value)| value.split_whitespace()).collect()
    };
    let enabled = !words("enabled").iter().any(|word| ["no", "false", "0"].contains(&word.to_lowercase().as_str()));
    if !enabled || !words("types").contains(&"deb") || !words("components").contains(&"main") {
        return Vec::new();
    }
    let suites = words("suites");
    words("uris")
        .into_iter()
        .flat_map(|uri| suites.iter().map(|suite| Source { uri: uri.to_owned(), suite: (*suite).to_owned() }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(uri: &str, suite: &str) -> Source {
        Source { uri: uri.into(), suite: suite.into() }
    }

    #[test]
    fn both_syntaxes_are_read_and_the_release_comes_first() {
        let files = [
            (
                PathBuf::from("debian.sources"),
                "# old: http://elsewhere.test\nTypes: deb deb-src\nURIs: http://mirror.test/sec\nSuites: bookworm-security\n\
                 Components: main\n\nTypes: deb\nURIs: http://mirror.test/debian\nSuites: bookworm\n bookworm-updates\n\
                 Components: main contrib\n"
                    .to_owned(),
            ),
            (
                PathBuf::from("vendor.list"),
                "deb [arch=amd64 signed-by=/x.gpg] http://vendor.test vendor-bookworm main\n\
                 deb [ trusted=yes ] http://second.test bookworm main # comment\n\
                 deb-src http://third.test bookworm main\n"
                    .to_owned(),
            ),
        ];
        assert_eq!(
            release_sources("bookworm", &files),
            [
                source("http://mirror.test/debian", "bookworm"),
                source("http://second.test", "bookworm"),
                source("http://mirror.test/debian", "bookworm-updates"),
                source("http://mirror.test/sec", "bookworm-security"),
            ]
        );
    }

    #[test]
    fn disabled_and_foreign_stanzas_are_left_out() {
        let text = "Types: deb\nURIs: http://a.test\nSuites: bookworm\nComponents: main\nEnabled: no\n\n\
                    Types: deb-src\nURIs: http://b.test\nSuites: bookworm\nComponents: main\n\n\
                    Types: deb\nURIs: http://c.test\nSuites: bookworm\nComponents: contrib\n";
        assert_eq!(release_sources("bookworm", &[(PathBuf::from("x.sources"), text.into())]), []);
    }
}
