//! Possible reasons why a run took longer than others.

use serde::{Deserialize, Serialize};

/// Something that may explain why runs took longer than others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The disturbance.
    pub what: Disturbance,
    /// The runs that it may explain.
    pub samples: Vec<u32>,
}

/// Activity of others during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// Read from the same devices.
    Reading,
    /// Used processors.
    Computing,
    /// Stolen time: the hypervisor gave the processors to other guests.
    Stealing,
}

impl Disturbance {
    /// To follow "during run 5": "others read from the same devices".
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Reading => "others read from the same devices",
            Self::Computing => "others used the processors more than in other runs",
            Self::Stealing => "the hypervisor stole processor time",
        }
    }
}
