//! Text in locales whose characters are not UTF-8.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::text;

/// Runs `coldstart` in a locale, which is given by the variables that say it.
fn coldstart(folder: &Path, locale: &[(&str, &str)], words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
        command.env_remove(name);
    }
    command.args(words).envs(locale.iter().copied()).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn text_is_drawn_with_what_the_locale_has() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let run = |locale: &[(&str, &str)], words: &[&str]| coldstart(folder.path(), locale, words);
    std::fs::write(folder.path().join("data"), vec![1; 40 * 4096]).unwrap();
    let record = ["prefetch", "record", "--as-is", "-o", "a.prefetch", "--", "cat", "data"];
    assert!(run(&[], &record).status.success());
    let ours = env!("CARGO_BIN_EXE_coldstart");
    let verbs: [&[&str]; 6] = [
        &["pagecache", "show", "data"],
        &["prefetch", "show", "--limit", "1", "a.prefetch"],
        &["resolve", "--tree", ours],
        &["resolve", "--why", "libc.so.6", ours],
        &["inspect", "/bin/sh"],
        &["measure", "--no-history", "--state", "hot", "--runs", "3", "--", "true"],
    ];
    for words in verbs {
        for locale in [&[("LC_ALL", "C")][..], &[("LC_CTYPE", "de_DE@euro"), ("LANG", "C.UTF-8")], &[("LANG", "POSIX")]]
        {
            let output = run(locale, words);
            assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}: {}", text(&output.stderr));
            for drawn in [text(&output.stdout), text(&output.stderr)] {
                assert!(drawn.is_ascii(), "{words:?} in {locale:?}: {drawn}");
            }
        }
        // What the program asks for itself needs no arrow.
        let is_drawn = words[1] != "--why";
        for locale in [&[][..], &[("LC_ALL", "C.UTF-8"), ("LANG", "C")]].into_iter().filter(|_| is_drawn) {
            let drawn = text(&run(locale, words).stdout);
            assert!(!drawn.is_ascii() && !drawn.contains('\u{fffd}'), "{words:?} in {locale:?}: {drawn}");
        }
    }
}

#[test]
fn names_stay_as_they_are() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(folder.path().join("a→…é"), "x").unwrap();
    let output = coldstart(folder.path(), &[("LC_ALL", "C")], &["pagecache", "show", "a→…é"]);
    assert!(text(&output.stdout).contains("a→…é"), "{}", text(&output.stdout));
}
