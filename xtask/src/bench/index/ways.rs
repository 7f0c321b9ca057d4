//! Starting a program in one of its ways: what it prints, how many calls it makes, how long it takes.

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::super::runner::{Said, shown, words};
use super::super::workshop::{Workshop, text};
use super::world::Way;

/// Variables that a shell sets by itself, or that all have.
const NOT_SET_BY_US: [&str; 7] = ["PATH", "HOME", "LANG", "PWD", "OLDPWD", "SHLVL", "_"];

impl Way {
    /// `env` with the variables, before which a command follows.
    pub(super) fn environment(&self) -> Vec<String> {
        let mut command = words(["env"]);
        command.extend(self.variables.iter().map(|(name, value)| format!("{name}={value}")));
        command
    }

    fn whole(&self) -> Vec<String> {
        [self.environment(), self.command.clone()].concat()
    }
}

/// The plain way with the variables of an index.
///
/// # Errors
/// When `coldstart index env` fails.
pub(super) fn with_environment(workshop: &Workshop, plain: &Way, index: &str, name: &str) -> Result<Way> {
    let mut command = plain.environment();
    command.extend(words(["sh", "-ec", "lines=$(\"$1\" index env \"$2\"); eval \"$lines\"; env -0", "sh"]));
    command.extend([text(&workshop.coldstart), index.to_owned()]);
    let said = succeeded(&command, workshop.runner.said(&command)?)?;
    let pairs = said.stdout.split('\0').filter_map(|pair| pair.split_once('='));
    let variables = pairs.filter(|(name, _)| !NOT_SET_BY_US.contains(name));
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Ok(Way { name: name.to_owned(), command: plain.command.clone(), variables })
}

/// The plain way by `coldstart index run`.
pub(super) fn with_launcher(workshop: &Workshop, plain: &Way, index: &str, name: &str) -> Way {
    let mut command = workshop.coldstart(["index", "run", index, "--"]);
    command.extend(plain.command.iter().cloned());
    Way { name: name.to_owned(), command, variables: plain.variables.clone() }
}

/// What a start prints.
///
/// # Errors
/// When it fails.
pub(super) fn printed(workshop: &Workshop, way: &Way) -> Result<String> {
    Ok(succeeded(&way.command, workshop.runner.said(&way.whole())?)?.stdout)
}

/// What a command prints that builds a world.
///
/// # Errors
/// When it fails.
pub(super) fn successful(workshop: &Workshop, command: &[String]) -> Result<String> {
    Ok(succeeded(command, workshop.runner.said(command)?)?.stdout)
}

/// Seconds of a start.
///
/// # Errors
/// When it fails.
pub(super) fn timed(workshop: &Workshop, way: &Way) -> Result<f64> {
    Ok(succeeded(&way.command, workshop.runner.timed(&way.whole())?)?.seconds)
}

/// Calls of a start that name a file, those of its children included: `open`, `stat`, `access`, `readlink` and their kin, but not `fstat`,
/// which is made of them with an empty name.
///
/// # Errors
/// When strace or the program fails.
pub(super) fn calls(workshop: &Workshop, way: &Way) -> Result<u64> {
    let output = workshop.directory.join("strace.out");
    let mut command = words(["strace", "-f", "-qq", "-e", "trace=%file", "-e", "signal=none", "-s", "4096", "-o"]);
    command.push(text(&output));
    command.extend(way.variables.iter().map(|(name, value)| format!("--env={name}={value}")));
    command.push("--".to_owned());
    command.extend(way.command.iter().cloned());
    succeeded(&way.command, workshop.runner.said(&command)?)?;
    let traced = fs::read(&output)?;
    fs::remove_file(&output)?;
    Ok(count(&String::from_utf8_lossy(&traced)))
}

/// Calls in strace's lines. One that was interrupted by another process has two, of which the second has `resumed>`.
fn count(traced: &str) -> u64 {
    let names_file = |line: &&str| !line.contains("resumed>") && !line.contains(", \"\", ") && line.contains('(');
    traced.lines().filter(names_file).count() as u64
}

fn succeeded(command: &[String], said: Said) -> Result<Said> {
    let command = command.first().map(|_| shown(command)).context("an empty command")?;
    ensure!(said.status.success(), "`{command}` ended with {}: {}", said.status, said.stderr.trim());
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_without_a_name_are_left_out() {
        let traced = "1 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n1 newfstatat(3, \"\", {st_mode=S_IFREG}, AT_EMPTY_PATH) = 0\n\
                      2 stat(\"/b\",  <unfinished ...>\n1 readlink(\"/c\", 0x1, 9) = -1 EINVAL (Invalid argument)\n\
                      2 <... stat resumed>{st_mode=S_IFDIR}) = 0\n";
        assert_eq!(count(traced), 3);
    }
}
