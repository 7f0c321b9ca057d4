//! Running the tools, in one plain environment, with Ctrl-C forwarded to them and awaited.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process};

use super::interrupt::Interrupt;

/// The environment of everything measured. Ours would differ from machine to machine, and each directory more on PATH is
/// a failing lookup more on the slow disk.
const ENVIRONMENT: [(&str, &str); 3] =
    [("HOME", "/root"), ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), ("LANG", "C.UTF-8")];

/// How often we look whether a tool has ended: seldom enough to be no load beside what is measured.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The same where the time is the figure.
const LOOK_OFTEN: Duration = Duration::from_micros(200);
/// How long a tool may take to end once asked to: `coldstart` ends the program it started, too.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts tools one at a time.
pub(super) struct Runner {
    interrupt: Interrupt,
    /// Where a tool's stdout goes before we read it. A pipe would stay open as long as anything the tool left running.
    output: PathBuf,
}

impl Runner {
    /// `output` is a file that this runner may write.
    pub(super) fn new(output: PathBuf) -> Result<Self> {
        Ok(Self { interrupt: Interrupt::watch()?, output })
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.came()
    }

    /// Runs a program for its effect; what it prints is dropped.
    ///
    /// # Errors
    /// When it cannot be started, fails, or we are interrupted.
    pub(super) fn run(&self, words: &[String]) -> Result<()> {
        let status = self.wait(words, Stdio::null(), Stdio::null())?;
        if !status.success() {
            bail!("`{}` ended with {status}", shown(words));
        }
        Ok(())
    }

    /// Runs a program whose stdout is one JSON object; its stderr goes to ours.
    ///
    /// # Errors
    /// When it cannot be started, ends with a code that is not in `accepted`, prints something else, or when we are
    /// interrupted.
    pub(super) fn json(&self, words: &[String], accepted: &[i32]) -> Result<serde_json::Value> {
        let output = fs::File::create(&self.output)?.into_parts().0;
        let status = self.wait(words, output.into(), Stdio::inherit())?;
        if !status.code().is_some_and(|code| accepted.contains(&code)) {
            bail!("`{}` ended with {status}", shown(words));
        }
        serde_json::from_slice(&fs::read(&self.output)?)
            .with_context(|| format!("`{}` printed something else than JSON", shown(words)))
    }

    /// Runs a program and keeps all it says, whatever its end.
    ///
    /// # Errors
    /// When it cannot be started, or we are interrupted.
    pub(super) fn said(&self, words: &[String]) -> Result<Said> {
        self.said_looking(words, LOOK_EVERY)
    }

    /// As [`Runner::said`], where the time is wanted: the end is seen a fifth of a millisecond after it at the latest.
    ///
    /// # Errors
    /// When it cannot be started, or we are interrupted.
    pub(super) fn timed(&self, words: &[String]) -> Result<Said> {
        self.said_looking(words, LOOK_OFTEN)
    }

    fn said_looking(&self, words: &[String], every: Duration) -> Result<Said> {
        let complaints = self.output.with_extension("stderr");
        let stdout = fs::File::create(&self.output)?.into_parts().0;
        let stderr = fs::File::create(&complaints)?.into_parts().0;
        let clock = Instant::now();
        let status = self.wait_looking(words, stdout.into(), stderr.into(), every, &mut |_| ())?;
        let seconds = clock.elapsed().as_secs_f64();
        let text = |file: &PathBuf| fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Said { status, seconds, stdout: text(&self.output)?, stderr: text(&complaints)? })
    }

    /// Runs a program for its effect as [`Runner::run`] does, and meanwhile hands its process id to `look`, first right
    /// after its start and then whenever `every` has passed.
    ///
    /// # Errors
    /// When it cannot be started, fails, or we are interrupted.
    pub(super) fn watched(&self, words: &[String], every: Duration, look: &mut dyn FnMut(u32)) -> Result<()> {
        let status = self.wait_looking(words, Stdio::null(), Stdio::null(), every, look)?;
        if !status.success() {
            bail!("`{}` ended with {status}", shown(words));
        }
        Ok(())
    }

    fn wait(&self, words: &[String], stdout: Stdio, stderr: Stdio) -> Result<ExitStatus> {
        self.wait_looking(words, stdout, stderr, LOOK_EVERY, &mut |_| ())
    }

    fn wait_looking(
        &self,
        words: &[String],
        stdout: Stdio,
        stderr: Stdio,
        every: Duration,
        look: &mut dyn FnMut(u32),
    ) -> Result<ExitStatus> {
        if self.is_interrupted() {
            bail!("interrupted");
        }
        let mut command = plain_command(words)?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let mut child = command.spawn().with_context(|| format!("cannot start `{}`", shown(words)))?;
        loop {
            look(child.id());
            if let Some(status) = child.try_wait()? {
                if self.is_interrupted() {
                    bail!("interrupted");
                }
                return Ok(status);
            }
            if self.is_interrupted() {
                end(&mut child)?;
                bail!("interrupted");
            }
            std::thread::sleep(every);
        }
    }
}

/// What a program said until its end.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) status: ExitStatus,
    /// From its start until its end was seen, which is a tenth of a second late unless it was timed.
    pub(super) seconds: f64,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// A command in the plain environment.
pub(super) fn plain_command(words: &[String]) -> Result<Command> {
    let (program, arguments) = words.split_first().context("an empty command")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(ENVIRONMENT);
    Ok(command)
}

/// Asks the child to end. From a terminal Ctrl-C has reached it already; a signal sent to us alone has not.
fn end(child: &mut Child) -> Result<()> {
    // It may have ended at this very moment, which is what was wanted.
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(LOOK_EVERY);
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Owned words of a command.
pub(super) fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}

/// A command as one would type it.
pub(super) fn shown(words: &[String]) -> String {
    shell_words::join(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_codes_and_environment_are_as_said() {
        let directory = tempfile::tempdir().unwrap();
        let runner = Runner::new(directory.path().join("output.json")).unwrap();
        let script = r#"printf '{"home":"%s","user":"%s"}' "$HOME" "$USER"; exit 1"#;
        let command = words(["sh", "-c", script]);
        let printed = runner.json(&command, &[0, 1]).unwrap();
        assert_eq!(printed, serde_json::json!({"home": "/root", "user": ""}));
        let error = runner.json(&command, &[0]).unwrap_err();
        assert!(error.to_string().contains("exit status: 1"), "{error}");
        assert!(runner.json(&words(["echo", "{"]), &[0]).is_err());
        let said = runner.said(&words(["sh", "-c", "echo out; echo oh >&2; exit 2"])).unwrap();
        assert_eq!((said.status.code(), said.stdout.as_str(), said.stderr.as_str()), (Some(2), "out\n", "oh\n"));
        let said = runner.timed(&words(["sleep", "0.05"])).unwrap();
        assert!(said.status.success() && said.seconds >= 0.05, "{said:?}");
        assert!(runner.run(&words(["false"])).is_err());
        assert!(runner.run(&words(["true"])).is_ok());
        assert!(runner.run(&words(["/nonexistent/tool"])).is_err());
    }

    #[test]
    fn an_interrupt_ends_the_tool_and_keeps_others_from_starting() {
        let directory = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::default();
        let asked = interrupt.clone();
        let runner = Runner { interrupt, output: directory.path().join("output.json") };
        let begun = directory.path().join("begun");
        let pid = begun.clone();
        std::thread::spawn(move || {
            while std::fs::read(&pid).unwrap_or_default().is_empty() {
                std::thread::sleep(LOOK_EVERY);
            }
            asked.ask();
        });
        let script = "echo $$ > \"$1\"; exec sleep 600";
        let error = runner.run(&words(["sh", "-c", script, "sh", begun.to_str().unwrap()])).unwrap_err();
        assert_eq!(error.to_string(), "interrupted");
        let pid = std::fs::read_to_string(&begun).unwrap();
        assert!(!coldstart_host::process::exists(pid.trim().parse().unwrap()));
        std::fs::remove_file(&begun).unwrap();
        assert!(runner.run(&words(["touch", begun.to_str().unwrap()])).is_err());
        assert!(!begun.exists());
    }
}
