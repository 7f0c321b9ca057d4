//! The verbs over a whole system: `inspect` of every ELF file, all packed, all programs bound, all programs traced.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Output;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};
use serde_json::Value;

use super::Asked;
use super::in_parallel;
use super::jail::{COLDSTART, Jail};
use super::programs::Files;
use super::report::Row;

/// Of so many files one jail is made: making one takes as long as inspecting a few.
const AT_ONCE: usize = 100;

/// Prints the exit status, the name and the first line of stderr of each file that is not inspected.
const INSPECT: &str = r#"
for file; do
    /coldstart inspect "$file" >/dev/null 2>/tmp/said || printf '%s\t%s\t%s\n' $? "$file" "$(head -n 1 /tmp/said)"
done
"#;

/// Traces `$1 --version` and ends with its exit status, or with 250 when something is wrong with the trace.
const TRACE: &str = r#"
failed() { echo "$1"; exit 250; } >&2
mkdir /trace
sh -c 'echo $$ >/tmp/number; exec /coldstart trace -o /trace/start.coldtrace -- "$1" --version' sh "$1"
code=$?
[ "$(ls -A /trace)" = start.coldtrace ] || failed "beside the trace: $(ls -A /trace)"
ls -d /sys/kernel/tracing/instances/coldstart-locked-"$(cat /tmp/number)"-* 2>/dev/null >&2 && failed 'an instance of tracefs is left'
/coldstart trace show --json /trace/start.coldtrace >/dev/null || failed 'the trace cannot be read'
exit $code
"#;

/// `inspect` of each file, in a process of its own.
///
/// # Errors
/// When a jail cannot be made.
pub(super) fn inspect(jail: &Jail<'_>, files: &Files) -> Result<Row> {
    let chunks: Vec<&[PathBuf]> = files.all.chunks(AT_ONCE).collect();
    let outputs = in_parallel("inspect", &chunks, |chunk| {
        let mut words: Vec<OsString> = ["/bin/sh", "-c", INSPECT, "sh"].map(OsString::from).into();
        words.extend(chunk.iter().map(OsString::from));
        jail.output(&words)
    })?;
    let mut row = Row::new("`inspect`, ELF files");
    (row.count, row.same) = (files.all.len(), files.all.len());
    for output in outputs {
        ensure!(output.status.success(), "{}", ending(&output));
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let mut fields = line.splitn(3, '\t');
            let (Some(code), Some(file), Some(said)) = (fields.next(), fields.next(), fields.next()) else {
                bail!("`{line}` is no answer about a file");
            };
            row.same -= 1;
            // Wrong files are told with exit code 2; a panic or a signal has others.
            if code == "2" && said.starts_with("error: ") {
                row.beside(format!("refused: {}", said.replace(file, "FILE")));
            } else {
                row.different.push(format!("{file}: exit status {code}: {said}"));
            }
        }
    }
    Ok(row)
}

/// Packs all ELF files, and returns the jail in which they are.
///
/// # Errors
/// When `pack` does not end as it should.
pub(super) fn pack<'a>(jail: &Jail<'a>, what: &[PathBuf]) -> Result<(Row, Jail<'a>)> {
    let mut words: Vec<OsString> =
        [COLDSTART, "pack", "--passes", "all-safe", "--in-place", "--json", "--"].map(OsString::from).into();
    words.extend(what.iter().map(OsString::from));
    let (output, packed) = jail.changed("packed", &words)?;
    Ok((outcomes("`pack`, ELF files", &output, "files", &["packed", "nothing"])?, packed))
}

/// Binds all programs, whether they gain by it or not, and returns the jail in which they are.
///
/// # Errors
/// When `bind` does not end as it should.
pub(super) fn bind<'a>(jail: &Jail<'a>, files: &Files) -> Result<(Row, Jail<'a>)> {
    let mut words: Vec<OsString> =
        [COLDSTART, "bind", "--anyway", "--in-place", "--json", "--"].map(OsString::from).into();
    words.extend(files.programs.iter().map(OsString::from));
    let (output, bound) = jail.changed("bound", &words)?;
    Ok((outcomes("`bind`, programs", &output, "programs", &["bound"])?, bound))
}

/// The files in the JSON of a verb, by what became of them.
fn outcomes(subject: &str, output: &Output, list: &str, good: &[&str]) -> Result<Row> {
    let said: Value = serde_json::from_slice(&output.stdout).with_context(|| ending(output))?;
    let files = said.get(list).and_then(Value::as_array).with_context(|| ending(output))?;
    let mut row = Row::new(subject);
    for file in files {
        let text = |place: &str| file.pointer(place).and_then(Value::as_str).unwrap_or("?");
        let outcome = text("/outcome");
        row.count += 1;
        if outcome == "refused" {
            row.beside(format!("refused: `{}`", text("/refusal/code")));
        } else if good.contains(&outcome) {
            row.same += 1;
            row.beside(outcome);
        } else {
            row.different.push(format!("{}: {outcome}: {}", text("/path"), text("/error")));
        }
    }
    ensure!(matches!(output.status.code(), Some(0 | 1)) || !row.different.is_empty(), "{}", ending(output));
    Ok(row)
}

/// Traces all programs that end by themselves when they are asked for their version.
///
/// One after the other, so that a process that is left is known by its program: it comes to us, as the nearest subreaper.
///
/// # Errors
/// When a jail cannot be made.
pub(super) fn trace(jail: &Jail<'_>, asked: &mut [Asked]) -> Result<Row> {
    set_child_subreaper(Some(getpid())).context("cannot take over orphans")?;
    let mut row = Row::new("`trace`, programs");
    let versions: Vec<&mut Asked> = asked.iter_mut().filter(|asked| asked.argument == "--version").collect();
    let count = versions.len();
    for (number, asked) in versions.into_iter().enumerate() {
        if number % 100 == 0 {
            eprintln!("sweep: trace: {number} of {count}");
        }
        if !asked.plain.ends() {
            row.beside("not traced: still running after the limit");
            continue;
        }
        if !asked.plain.starts() {
            row.beside(format!("not traced: cannot be started here: {}", asked.program.display()));
            continue;
        }
        let mut words: Vec<OsString> = ["/bin/sh", "-c", TRACE, "sh"].map(OsString::from).into();
        words.push(asked.program.clone().into());
        let answer = jail.ask_traced(&words)?;
        let left = reap()?;
        let question = asked.words();
        let difference = asked.plain.difference_after(&answer, false, 3, || jail.ask(&question))?;
        row.count(&asked.program.to_string_lossy(), if left { Some("left a process".into()) } else { difference });
    }
    set_child_subreaper(None).context("cannot give up orphans")?;
    Ok(row)
}

/// Reaps what has ended; whether a process is left that has not.
fn reap() -> Result<bool> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Ok(true),
            Err(rustix::io::Errno::CHILD) => return Ok(false),
            Err(error) => return Err(error).context("cannot wait for orphans"),
        }
    }
}

fn ending(output: &Output) -> String {
    format!("coldstart ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    #[test]
    fn outcomes_are_counted_and_failures_are_named() {
        let json = br#"{"files": [{"path": "/a", "outcome": "packed"}, {"path": "/b", "outcome": "nothing"},
            {"path": "/c", "outcome": "refused", "refusal": {"code": "payload"}},
            {"path": "/d", "outcome": "failed", "error": "not proven"}]}"#;
        let output =
            Output { status: std::process::ExitStatus::from_raw(2 << 8), stdout: json.to_vec(), stderr: Vec::new() };
        let row = outcomes("files", &output, "files", &["packed", "nothing"]).unwrap();
        assert_eq!((row.count, row.same), (4, 2));
        assert_eq!(row.different, ["/d: failed: not proven"]);
        assert_eq!(
            row.besides.into_iter().collect::<Vec<_>>(),
            [("nothing".to_owned(), 1), ("packed".to_owned(), 1), ("refused: `payload`".to_owned(), 1)]
        );
    }
}
