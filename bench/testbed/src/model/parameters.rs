//! Parameters of the models, with defaults and their reasons (see docs/testbed.md).

use serde::{Deserialize, Serialize};

use super::DiskModel;
use super::hdd::Hdd;
use super::network::Network;

/// Which model, without its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A disk with one moving head.
    Hdd,
    /// A disk behind a network.
    Net,
}

/// A model and its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub(crate) enum Parameters {
    /// A disk with one moving head.
    Hdd(HddParameters),
    /// A disk behind a network.
    Net(NetworkParameters),
}

/// A 7200 rpm desktop drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HddParameters {
    /// Sustained transfer off the platter, in 10^6 bytes a second.
    pub(crate) bandwidth_mb: f64,
    /// Turns a minute.
    pub(crate) rpm: f64,
    /// The shortest seek (track to track, settling included), in milliseconds.
    pub(crate) settle_ms: f64,
    /// What a seek over the whole drive takes beyond the shortest, in milliseconds.
    pub(crate) stroke_ms: f64,
    /// The part of the drive's stroke that the image covers, in `(0, 1]`.
    pub(crate) image_span: f64,
    /// Time from a command's arrival until the head can act on it, in milliseconds; hidden while the head is busy.
    pub(crate) command_ms: f64,
    /// A read that begins at most this far ahead of the head is reached by letting the platter turn, in bytes.
    pub(crate) read_through_bytes: u64,
    /// How many of the oldest waiting commands the drive chooses among (SATA native command queueing has 32 slots).
    pub(crate) queue_depth: usize,
}

/// A network disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NetworkParameters {
    /// The link's speed, shared by all reads, in 10^6 bytes a second.
    pub(crate) bandwidth_mb: f64,
    /// Time from the start of service until a read's bytes reach the link, in milliseconds.
    pub(crate) latency_ms: f64,
    /// How many reads are in service at once; the others wait.
    pub(crate) parallel: usize,
}

impl Default for HddParameters {
    fn default() -> Self {
        Self {
            bandwidth_mb: 120.0,
            rpm: 7200.0,
            settle_ms: 0.8,
            stroke_ms: 14.4,
            image_span: 0.56,
            command_ms: 0.1,
            read_through_bytes: 1 << 20,
            queue_depth: 32,
        }
    }
}

impl Default for NetworkParameters {
    fn default() -> Self {
        Self { bandwidth_mb: 250.0, latency_ms: 1.0, parallel: 32 }
    }
}

/// Why a figure is refused.
#[derive(Debug, thiserror::Error, PartialEq)]
pub(crate) enum ParameterError {
    /// Outside the range in which the model means anything.
    #[error("{name} is {value}, but must be between {least} and {most}")]
    OutOfRange {
        /// The parameter's name, as on the command line.
        name: &'static str,
        /// What was asked for.
        value: f64,
        /// The least value allowed.
        least: f64,
        /// The greatest value allowed.
        most: f64,
    },
}

impl Parameters {
    /// The default figures of a model.
    pub(crate) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Hdd => Self::Hdd(HddParameters::default()),
            Kind::Net => Self::Net(NetworkParameters::default()),
        }
    }

    /// Checks each figure's range.
    pub(crate) fn check(&self) -> Result<(), ParameterError> {
        let within = |name: &'static str, value: f64, least: f64, most: f64| {
            // Written so that a NaN is refused as well.
            if value >= least && value <= most {
                Ok(())
            } else {
                Err(ParameterError::OutOfRange { name, value, least, most })
            }
        };
        match self {
            Self::Hdd(hdd) => {
                within("bandwidth-mb", hdd.bandwidth_mb, 0.1, 100_000.0)?;
                within("rpm", hdd.rpm, 100.0, 100_000.0)?;
                within("settle-ms", hdd.settle_ms, 0.0, 1000.0)?;
                within("stroke-ms", hdd.stroke_ms, 0.0, 1000.0)?;
                within("image-span", hdd.image_span, 0.001, 1.0)?;
                within("command-ms", hdd.command_ms, 0.0, 1000.0)?;
                within("read-through-bytes", hdd.read_through_bytes as f64, 0.0, (1u64 << 30) as f64)?;
                within("queue-depth", hdd.queue_depth as f64, 1.0, 1024.0)
            }
            Self::Net(net) => {
                within("bandwidth-mb", net.bandwidth_mb, 0.1, 100_000.0)?;
                within("latency-ms", net.latency_ms, 0.0, 10_000.0)?;
                within("parallel", net.parallel as f64, 1.0, 1024.0)
            }
        }
    }

    /// A model at rest, for a disk of `disk_bytes`.
    pub(crate) fn model(&self, disk_bytes: u64) -> Box<dyn DiskModel> {
        match self {
            Self::Hdd(parameters) => Box::new(Hdd::new(parameters.clone(), disk_bytes)),
            Self::Net(parameters) => Box::new(Network::new(parameters.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range_and_nonsense_is_not() {
        assert_eq!(Parameters::of(Kind::Hdd).check(), Ok(()));
        assert_eq!(Parameters::of(Kind::Net).check(), Ok(()));
        for bandwidth_mb in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let wrong = Parameters::Net(NetworkParameters { bandwidth_mb, ..Default::default() });
            assert!(wrong.check().is_err(), "{bandwidth_mb} was taken");
        }
        let wrong = Parameters::Net(NetworkParameters { parallel: 0, ..Default::default() });
        assert!(wrong.check().is_err());
    }
}
