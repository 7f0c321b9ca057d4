//! The tests on other kernels and processors, each in a virtual machine.
//!
//! What runs there: one of Debian's kernels as packaged, a minimal system with the tools that the tests start, and the tests
//! as this machine built them. A machine has two disks: the system, which is made once and never changed, and this checkout
//! with the test programs at the same paths as here, which is made anew each time.

mod checkout;
mod initial;
mod machine;
mod packages;
mod system;

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Args;

use crate::architecture::Architecture;
use crate::tools::{install_missing, tool};
use machine::Machine;

/// What `cargo xtask vm` may be told.
#[derive(Args)]
pub(crate) struct VmArguments {
    /// Only tests whose `PACKAGE::BINARY::NAME` contains one of these [default: those of the layers that ask the kernel]
    filters: Vec<String>,
    /// On which of Debian's kernels
    #[arg(long, value_enum, num_args = 1.., default_values = ["6.1", "6.12"])]
    kernel: Vec<Kernel>,
    /// On which processor
    #[arg(long, value_enum, default_value = "x86_64")]
    architecture: Architecture,
    /// How many tests run at the same time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Minutes until a machine that has not ended is stopped
    #[arg(long, default_value_t = 180)]
    minutes: u64,
}

/// A kernel of Debian's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kernel {
    /// Debian 12's
    #[value(name = "6.1")]
    Bookworm,
    /// Debian 13's, as built for Debian 12
    #[value(name = "6.12")]
    Trixie,
}

impl Kernel {
    fn version(self) -> &'static str {
        match self {
            Self::Bookworm => "6.1",
            Self::Trixie => "6.12",
        }
    }
}

/// The layers whose answers come from the kernel.
const OF_THE_KERNEL: &[&str] = &[
    "sys::",
    "host::",
    "doctor::",
    "pagecache::",
    "trace::",
    "launch::",
    "launcher::",
    "measure::",
    "prefetch::",
    "app::it::pagecache",
    "cli::it::doctor",
    "cli::it::killed",
    "cli::it::measure",
    "cli::it::pagecache",
    "cli::it::prefetch",
    "cli::it::trace_record",
];

/// Runs the tests in a virtual machine for each of the kernels.
///
/// # Errors
///
/// Without root, when a machine cannot be made or does not end, and when a test fails.
pub(crate) fn vm(arguments: &VmArguments) -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "the disks of virtual machines are made by root\nhint: sudo -E cargo xtask vm"
    );
    let architecture = arguments.architecture;
    install_missing(&[
        architecture.machine_emulator(),
        tool("mke2fs", "e2fsprogs"),
        tool("cpio", "cpio"),
        tool("depmod", "kmod"),
        tool("xz", "xz-utils"),
    ])?;
    let system = system::System::ready(architecture)?;
    let filters: Vec<&str> = match &arguments.filters[..] {
        [] => OF_THE_KERNEL.to_vec(),
        chosen => chosen.iter().map(String::as_str).collect(),
    };
    let mut failed = Vec::new();
    for &kernel in &arguments.kernel {
        // A new one for each machine: tests write beside themselves.
        // The tests end before the machine is stopped, so that they say what they did.
        let checkout = checkout::disk(architecture, &filters, arguments.jobs, arguments.minutes * 9 / 10)?;
        println!("\n{} on Linux {}", architecture.name(), kernel.version());
        let machine = Machine {
            architecture,
            kernel: &system.kernel(kernel),
            initial: &system.initial(kernel),
            system: &system.disk(),
            checkout: &checkout,
        };
        if !machine.run(Duration::from_secs(arguments.minutes.saturating_mul(60)))? {
            failed.push(kernel.version());
        }
    }
    if !failed.is_empty() {
        bail!("tests failed on Linux {}", failed.join(" and "));
    }
    Ok(())
}
