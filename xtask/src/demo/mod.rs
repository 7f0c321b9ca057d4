//! `demo`: the main job on a real program of this machine, twice: on its own disk, and on the model of a network disk.
//!
//! Not obvious: this is the first thing that most people run, in a fresh clone, so compiling is part of it. The profile `demo` in the
//! workspace's `Cargo.toml` is for that, and what only other chores need must not be built here.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fs_err as fs;

mod candidate;
mod interrupt;
mod network;
mod story;
mod tree;

use candidate::Candidate;
use interrupt::Interrupt;
use network::Network;
use story::{Story, Verdict, head, seconds};

/// Counted runs of each command in each state on this machine's disk.
const RUNS: u32 = 5;
/// Time for trials and measurements on this machine's disk: enough for the more promising plan of a large program.
const BUDGET: &str = "25s";
/// On the network model, of a program whose hot starts take [`SLOW`] or longer: what differs there differs by much.
const FEWER_RUNS: u32 = 3;
const SLOW: Duration = Duration::from_millis(400);

/// What may be typed after `demo`.
#[derive(clap::Args)]
pub(crate) struct DemoArguments {
    /// The program, and its arguments; it must end by itself [default: the one of those installed that gains most]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<String>,
}

/// What is built for a demonstration.
struct Programs {
    coldstart: PathBuf,
    /// Beside `coldstart`, where `speedup` looks for it.
    launcher: PathBuf,
    testbed: PathBuf,
}

/// Builds coldstart and shows what it does for a program.
///
/// # Errors
/// When there is no such program, when something cannot be built or measured, or on Ctrl-C. That nothing became faster on a disk is a
/// result and no error.
pub(crate) fn demo(arguments: &DemoArguments) -> Result<()> {
    let named = match arguments.command.split_first() {
        Some((program, arguments)) => Some(Candidate::named(program, arguments)?),
        None => None,
    };
    let [coldstart, launcher, testbed] =
        crate::cargo::build_programs("demo", ["coldstart", "coldstart-launcher", "coldstart-testbed"])?;
    let programs = Programs { coldstart, launcher, testbed };
    let directory = crate::cargo::target_directory()?.join("demonstration");
    fs::create_dir_all(&directory)?;
    // Copies of files that only root may read will be in it for some seconds.
    fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o700))?;
    let lock = fs::File::create(directory.join("lock"))?;
    lock.file().try_lock().with_context(|| format!("another demonstration is running in {}", directory.display()))?;
    candidate::write_files(&directory)?;

    let interrupt = Interrupt::watch()?;
    let candidate = match named {
        Some(candidate) => candidate,
        None => candidate::choose(&directory, &interrupt)?,
    };
    let shown = candidate.typed(&directory.to_string_lossy());
    eprintln!("demo: {shown}");
    let start = candidate.start(&directory, &interrupt).with_context(|| format!("`{shown}` cannot be shown"))?;
    let network_runs = if start < SLOW { RUNS } else { FEWER_RUNS };
    let own = own_disk(&programs, &candidate, &directory, &interrupt)?;
    let missing = network::missing();
    let network = match &missing {
        Some(_) => None,
        None => {
            let network =
                Network { programs: &programs, directory: &directory, interrupt: &interrupt, runs: network_runs };
            Some(network.story(&candidate))
        }
    };
    interrupt.check()?;

    let state = if own.is_cold {
        "cold starts"
    } else {
        "starts with the program's files evicted, as far as one may without root"
    };
    let runs = if network.is_none() || network_runs == RUNS {
        String::new()
    } else {
        format!(", of {network_runs} on the network disk")
    };
    println!("\n{state}, medians of {RUNS} runs{runs}: {shown}\n\n{:14}{}", "", head());
    println!("{:14}{}", "this disk", own.row());
    match (&network, &missing) {
        (Some(Ok(network)), _) => println!("{:14}{}", "network disk", network.row()),
        (Some(Err(_)), _) => println!("{:14}failed", "network disk"),
        (None, missing) => println!("{:14}not shown: {}", "network disk", missing.as_deref().unwrap_or_default()),
    }
    let told = network.as_ref().and_then(|story| story.as_ref().ok());
    println!("\n{}", sentence(&candidate.name, &own, told, &from_now_on(&programs, &candidate, &directory)));
    network.map_or(Ok(()), |network| network.map(drop)).context("the model of a network disk")
}

/// The command that starts the program with the plan that was recorded.
fn from_now_on(programs: &Programs, candidate: &Candidate, directory: &Path) -> String {
    let plan = directory.join(format!("{}.prefetch", file_name(candidate)));
    let mut words = [&programs.launcher, &plan].map(|path| path.to_string_lossy().into_owned()).to_vec();
    words.extend(["--".to_owned(), candidate.program.to_string_lossy().into_owned()]);
    words.extend(candidate.arguments(&directory.to_string_lossy()));
    shell_words::join(words)
}

/// `coldstart speedup` as anybody would run it.
fn own_disk(programs: &Programs, candidate: &Candidate, directory: &Path, interrupt: &Interrupt) -> Result<Story> {
    let mut speedup = Command::new(&programs.coldstart);
    // The command at the end replays a plan and changes no file, so no other fix is measured.
    speedup.args(["speedup", "--fixes", "prefetch", "--budget", BUDGET, "--json", "--force"]);
    speedup.args(["--runs", &RUNS.to_string(), "--output"]);
    speedup.arg(directory.join(format!("{}.prefetch", file_name(candidate)))).arg("--").arg(&candidate.program);
    speedup.args(candidate.arguments(&directory.to_string_lossy())).current_dir(directory);
    let output = speedup.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    interrupt.check()?;
    // 1 is an answer: this disk may be too fast for any fix to show.
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("`coldstart speedup` ended with {}; it says why above", output.status);
    }
    Story::of_speedup(&serde_json::from_slice(&output.stdout).context("`coldstart speedup` printed no result")?)
}

/// A candidate's name as the beginning of a file's.
fn file_name(candidate: &Candidate) -> String {
    Path::new(&candidate.name).file_name().map_or_else(|| "program".into(), |name| name.to_string_lossy().into_owned())
}

/// What happened and what to type next, after the table.
fn sentence(name: &str, own: &Story, network: Option<&Story>, from_now_on: &str) -> String {
    let told = |story: &Story, disk: &str| match story.verdict {
        Verdict::Faster => {
            let (before, after) = (seconds(story.before), seconds(story.after));
            format!("starts {:.1} times as fast {disk} with coldstart ({after} instead of {before})", story.times())
        }
        Verdict::Slower => format!("starts more slowly {disk} with coldstart"),
        Verdict::NotShown => format!("gains nothing that {RUNS} starts can show {disk}"),
    };
    let own_told = told(own, "from this machine's disk");
    let both = match network {
        Some(network) => format!("{}, and {own_told}", told(network, "from a network disk (model: 1 ms, 250 MB/s)")),
        None => own_told,
    };
    let next = if own.verdict == Verdict::Faster {
        format!("type this to start it so from now on:\n    {from_now_on}")
    } else {
        "type this to see it for another program:\n    cargo xtask demo PROGRAM ARGUMENTS".to_owned()
    };
    format!("{name} {both}; {next}")
}

#[cfg(test)]
mod tests {
    use super::story::tests::story;
    use super::*;

    #[test]
    fn the_sentence_says_what_happened_and_what_to_type() {
        let (faster, same) = (story(2.0, 0.5, Verdict::Faster), story(0.2, 0.2, Verdict::NotShown));
        let said = sentence("node", &faster, Some(&faster), "coldstart-run p -- node");
        assert!(said.contains("4.0 times as fast from a network disk") && said.ends_with("coldstart-run p -- node"));
        let said = sentence("node", &same, Some(&faster), "coldstart-run p -- node");
        assert!(said.contains("can show from this machine's disk") && said.ends_with("demo PROGRAM ARGUMENTS"));
        let said = sentence("node", &same, None, "x");
        assert!(!said.contains("network"), "{said}");
    }
}
