//! Command-line arguments.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::{Args, Parser, Subcommand};

use crate::bed::BedKind;
use crate::model::{Kind, Parameters};

/// A reproducible slow disk: a FUSE file with a disk's timing behind a loop device.
#[derive(Parser)]
#[command(name = "coldstart-testbed", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Bring a bed up: mount the image on a slow disk
    Up(Up),
    /// Take a bed down, whatever state it is in
    Down(Down),
    /// Tell what is up; exit code 1 when nothing is
    Status(Status),
    /// Measure the bed's disk and set the figures beside what its model should give; exit code 1 when they differ
    Verify(Verify),
    /// Serve a slow file (what `up` starts in the background)
    #[command(hide = true)]
    Serve(Serve),
}

/// Which bed.
#[derive(Args)]
pub(crate) struct Which {
    /// The bed's name; several beds can be up under different names
    #[arg(long, default_value = "bed", value_parser = checked_name)]
    pub(crate) name: String,
    /// Directory for the bed's state, log and mounts [default: target/testbed, or target/testbed-NAME]
    #[arg(long)]
    home: Option<PathBuf>,
}

impl Which {
    /// The bed's own directory, absolute.
    pub(crate) fn home(&self) -> Result<PathBuf> {
        let home = match (&self.home, self.name.as_str()) {
            (Some(home), _) => home.clone(),
            (None, "bed") => target().join("testbed"),
            (None, name) => target().join(format!("testbed-{name}")),
        };
        Ok(std::path::absolute(home)?)
    }
}

/// Cargo's target directory that holds this program, wherever the environment or a configuration file puts it; for a program that
/// was copied elsewhere, `target` of the workspace that it was built from, or of the current directory.
pub(crate) fn target() -> PathBuf {
    // Cargo marks the directory so that backups leave it out (https://bford.info/cachedir/).
    let is_target = |path: &&Path| path.join("CACHEDIR.TAG").is_file();
    let program = std::env::current_exe().unwrap_or_default();
    if let Some(target) = program.ancestors().skip(1).find(is_target) {
        return target.to_owned();
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    workspace.filter(|path| path.join("Cargo.toml").exists()).unwrap_or(Path::new("")).join("target")
}

#[derive(Args)]
pub(crate) struct Up {
    /// The disk: one head, a network, or this machine's own
    pub(crate) kind: BedKind,
    /// The ext4 image [default: target/corpus/debian.ext4]; it is copied, never written
    #[arg(long)]
    pub(crate) image: Option<PathBuf>,
    /// Where to mount it [default: target/testbed/root]
    #[arg(long, value_name = "MOUNTPOINT")]
    pub(crate) at: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) overrides: Overrides,
}

/// Changes to the model's figures.
#[derive(Args, Default)]
pub(crate) struct Overrides {
    /// hdd, net: transfer in 10^6 bytes a second [hdd: 120, net: 250]
    #[arg(long, help_heading = "Model")]
    pub(crate) bandwidth_mb: Option<f64>,
    /// net: time until a read's first byte, in milliseconds (1)
    #[arg(long, help_heading = "Model")]
    pub(crate) latency_ms: Option<f64>,
    /// net: reads in service at once (32)
    #[arg(long, help_heading = "Model")]
    pub(crate) parallel: Option<usize>,
    /// hdd: turns a minute (7200)
    #[arg(long, help_heading = "Model")]
    pub(crate) rpm: Option<f64>,
    /// hdd: the shortest seek, in milliseconds (0.8)
    #[arg(long, help_heading = "Model")]
    pub(crate) settle_ms: Option<f64>,
    /// hdd: what a seek over the whole drive takes beyond the shortest, in milliseconds (14.4)
    #[arg(long, help_heading = "Model")]
    pub(crate) stroke_ms: Option<f64>,
    /// hdd: the part of the drive's stroke that the image covers, up to 1 (0.56)
    #[arg(long, help_heading = "Model")]
    pub(crate) image_span: Option<f64>,
    /// hdd: how many waiting reads the drive chooses among (32)
    #[arg(long, help_heading = "Model")]
    pub(crate) queue_depth: Option<usize>,
}

impl Overrides {
    /// The figures for `kind`, or `None` for this machine's own disk, which has no model.
    ///
    /// # Errors
    /// When a figure is out of range or means nothing for `kind`.
    pub(crate) fn parameters(&self, kind: BedKind) -> Result<Option<Parameters>> {
        let mut parameters = match kind {
            BedKind::Hdd => Some(Parameters::of(Kind::Hdd)),
            BedKind::Net => Some(Parameters::of(Kind::Net)),
            BedKind::Disk => None,
        };
        let refuse = |name: &str, given: bool| -> Result<()> {
            ensure!(!given, "--{name} does not apply to a {kind} bed");
            Ok(())
        };
        let set = |place: &mut f64, value: Option<f64>| *place = value.unwrap_or(*place);
        match &mut parameters {
            Some(Parameters::Hdd(hdd)) => {
                refuse("latency-ms", self.latency_ms.is_some())?;
                refuse("parallel", self.parallel.is_some())?;
                set(&mut hdd.bandwidth_mb, self.bandwidth_mb);
                set(&mut hdd.rpm, self.rpm);
                set(&mut hdd.settle_ms, self.settle_ms);
                set(&mut hdd.stroke_ms, self.stroke_ms);
                set(&mut hdd.image_span, self.image_span);
                hdd.queue_depth = self.queue_depth.unwrap_or(hdd.queue_depth);
            }
            other => {
                refuse("rpm", self.rpm.is_some())?;
                refuse("settle-ms", self.settle_ms.is_some())?;
                refuse("stroke-ms", self.stroke_ms.is_some())?;
                refuse("image-span", self.image_span.is_some())?;
                refuse("queue-depth", self.queue_depth.is_some())?;
                if let Some(Parameters::Net(net)) = other {
                    set(&mut net.bandwidth_mb, self.bandwidth_mb);
                    set(&mut net.latency_ms, self.latency_ms);
                    net.parallel = self.parallel.unwrap_or(net.parallel);
                } else {
                    refuse("bandwidth-mb", self.bandwidth_mb.is_some())?;
                    refuse("latency-ms", self.latency_ms.is_some())?;
                    refuse("parallel", self.parallel.is_some())?;
                }
            }
        }
        if let Some(parameters) = &parameters {
            parameters.check()?;
        }
        Ok(parameters)
    }
}

#[derive(Args)]
pub(crate) struct Down {
    /// End the processes that still use the bed
    #[arg(long)]
    pub(crate) kill: bool,
    #[command(flatten)]
    pub(crate) which: Which,
}

#[derive(Args)]
pub(crate) struct Status {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) which: Which,
}

#[derive(Args)]
pub(crate) struct Verify {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) which: Which,
}

#[derive(Args)]
pub(crate) struct Serve {
    #[arg(long)]
    pub(crate) image: PathBuf,
    #[arg(long)]
    pub(crate) at: PathBuf,
    /// The model's figures as JSON
    #[arg(long)]
    pub(crate) parameters: String,
}

/// Names become parts of file names.
fn checked_name(name: &str) -> Result<String> {
    let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !plain || name.is_empty() || name.len() > 32 {
        bail!("a name consists of 1 to 32 characters of a-z, 0-9 and `-`");
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn figures_of_another_model_are_refused() {
        let rpm = Overrides { rpm: Some(5400.0), ..Default::default() };
        assert!(matches!(rpm.parameters(BedKind::Hdd), Ok(Some(Parameters::Hdd(hdd))) if hdd.rpm == 5400.0));
        assert!(rpm.parameters(BedKind::Net).is_err());
        let latency = Overrides { latency_ms: Some(5.0), ..Default::default() };
        assert!(latency.parameters(BedKind::Net).is_ok());
        assert!(latency.parameters(BedKind::Hdd).is_err());
        assert!(latency.parameters(BedKind::Disk).is_err());
        assert_eq!(Overrides::default().parameters(BedKind::Disk).unwrap(), None);
    }
}
