//! What coldstart's verbs can do on this machine: the summary of all checks.
//!
//! A verb has several abilities: `measure` can start from several states, and a missing one
//! leaves the others. A verb does not work only if none of its abilities does.

use serde::Serialize;

use crate::check::{Check, Status};

/// A verb of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// `inspect`
    Inspect,
    /// `resolve`
    Resolve,
    /// `measure`
    Measure,
    /// `pack`
    Pack,
    /// `verify`
    Verify,
    /// `unpack`
    Unpack,
    /// `bind`
    Bind,
    /// `unbind`
    Unbind,
    /// `status`
    Status,
    /// `ldcache`
    Ldcache,
    /// `pagecache`
    Pagecache,
    /// `prefetch`
    Prefetch,
    /// `image`
    Image,
    /// `index`
    Index,
    /// `order`
    Order,
    /// `installed`
    Installed,
    /// `trace`
    Trace,
    /// `view`
    View,
    /// `speedup`
    Speedup,
}

/// One ability of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
    /// `inspect`
    Inspect,
    /// `resolve`
    Resolve,
    /// `measure --state cold`
    MeasureCold,
    /// `measure --state boot=FILE`
    MeasureBoot,
    /// `measure --state selective`
    MeasureSelective,
    /// `measure --state hot`
    MeasureHot,
    /// `measure --ready window`
    MeasureWindow,
    /// `pack`
    Pack,
    /// `verify`
    Verify,
    /// `verify --run`
    VerifyRun,
    /// `unpack`
    Unpack,
    /// `bind`
    Bind,
    /// `bind --mode audit`
    BindAudit,
    /// `unbind`
    Unbind,
    /// `status`
    Status,
    /// `ldcache`
    Ldcache,
    /// `pagecache show` of files that the user owns or may write
    PagecacheOwn,
    /// `pagecache show` of all other files
    PagecacheOthers,
    /// `pagecache show` of block devices
    PagecacheDevices,
    /// `pagecache evict`
    PagecacheEvict,
    /// `pagecache save`
    PagecacheSave,
    /// `pagecache restore`
    PagecacheRestore,
    /// `prefetch record`
    PrefetchRecord,
    /// `prefetch run` and `prefetch show`
    PrefetchRun,
    /// `image make`
    ImageMake,
    /// `image run`
    ImageRun,
    /// `image mount` and `image umount`
    ImageMount,
    /// `image show` and `image verify`
    ImageShow,
    /// `index make`
    IndexMake,
    /// `index run` and `index show`
    IndexRun,
    /// `order`
    Order,
    /// `installed`, without recording
    Installed,
    /// `installed --refresh`
    InstalledRefresh,
    /// `trace -- PROGRAM`
    TraceRecord,
    /// `trace show`, `trace sql` and `trace import`
    TraceShow,
    /// `view`, into files and the terminal
    View,
    /// `view --open`
    ViewOpen,
    /// `speedup`
    Speedup,
}

impl Ability {
    /// All, in display order.
    pub const ALL: [Self; 38] = [
        Self::Inspect,
        Self::Resolve,
        Self::MeasureCold,
        Self::MeasureBoot,
        Self::MeasureSelective,
        Self::MeasureHot,
        Self::MeasureWindow,
        Self::Pack,
        Self::Verify,
        Self::VerifyRun,
        Self::Unpack,
        Self::Bind,
        Self::BindAudit,
        Self::Unbind,
        Self::Status,
        Self::Ldcache,
        Self::PagecacheOwn,
        Self::PagecacheOthers,
        Self::PagecacheDevices,
        Self::PagecacheEvict,
        Self::PagecacheSave,
        Self::PagecacheRestore,
        Self::PrefetchRecord,
        Self::PrefetchRun,
        Self::ImageMake,
        Self::ImageRun,
        Self::ImageMount,
        Self::ImageShow,
        Self::IndexMake,
        Self::IndexRun,
        Self::Order,
        Self::Installed,
        Self::InstalledRefresh,
        Self::TraceRecord,
        Self::TraceShow,
        Self::View,
        Self::ViewOpen,
        Self::Speedup,
    ];

    /// Required by all verbs that start programs and observe them.
    pub(crate) const WATCHING: [Self; 10] = [
        Self::MeasureCold,
        Self::MeasureBoot,
        Self::MeasureSelective,
        Self::MeasureHot,
        Self::MeasureWindow,
        Self::PrefetchRecord,
        Self::ImageMake,
        Self::IndexMake,
        Self::InstalledRefresh,
        Self::Speedup,
    ];

    /// Its verb.
    pub fn verb(self) -> Verb {
        match self {
            Self::Inspect => Verb::Inspect,
            Self::Resolve => Verb::Resolve,
            Self::MeasureCold | Self::MeasureBoot | Self::MeasureSelective | Self::MeasureHot | Self::MeasureWindow => {
                Verb::Measure
            }
            Self::Pack => Verb::Pack,
            Self::Verify | Self::VerifyRun => Verb::Verify,
            Self::Unpack => Verb::Unpack,
            Self::Bind | Self::BindAudit => Verb::Bind,
            Self::Unbind => Verb::Unbind,
            Self::Status => Verb::Status,
            Self::Ldcache => Verb::Ldcache,
            Self::PagecacheOwn
            | Self::PagecacheOthers
            | Self::PagecacheDevices
            | Self::PagecacheEvict
            | Self::PagecacheSave
            | Self::PagecacheRestore => Verb::Pagecache,
            Self::PrefetchRecord | Self::PrefetchRun => Verb::Prefetch,
            Self::ImageMake | Self::ImageRun | Self::ImageMount | Self::ImageShow => Verb::Image,
            Self::IndexMake | Self::IndexRun => Verb::Index,
            Self::Order => Verb::Order,
            Self::Installed | Self::InstalledRefresh => Verb::Installed,
            Self::TraceRecord | Self::TraceShow => Verb::Trace,
            Self::View | Self::ViewOpen => Verb::View,
            Self::Speedup => Verb::Speedup,
        }
    }

    /// The command line or description for the user.
    pub fn title(self) -> &'static str {
        match self {
            Self::Inspect => "inspect",
            Self::Resolve => "resolve",
            Self::MeasureCold => "measure --state cold",
            Self::MeasureBoot => "measure --state boot=FILE",
            Self::MeasureSelective => "measure --state selective",
            Self::MeasureHot => "measure --state hot",
            Self::MeasureWindow => "measure --ready window",
            Self::Pack => "pack",
            Self::Verify => "verify",
            Self::VerifyRun => "verify --run",
            Self::Unpack => "unpack",
            Self::Bind => "bind",
            Self::BindAudit => "bind --mode audit",
            Self::Unbind => "unbind",
            Self::Status => "status",
            Self::Ldcache => "ldcache",
            Self::PagecacheOwn => "pagecache show, your own files",
            Self::PagecacheOthers => "pagecache show, other users' files",
            Self::PagecacheDevices => "pagecache show, block devices",
            Self::PagecacheEvict => "pagecache evict",
            Self::PagecacheSave => "pagecache save",
            Self::PagecacheRestore => "pagecache restore",
            Self::PrefetchRecord => "prefetch record",
            Self::PrefetchRun => "prefetch run, prefetch show",
            Self::ImageMake => "image make",
            Self::ImageRun => "image run",
            Self::ImageMount => "image mount, image umount",
            Self::ImageShow => "image show, image verify",
            Self::IndexMake => "index make",
            Self::IndexRun => "index run, index show",
            Self::Order => "order",
            Self::Installed => "installed",
            Self::InstalledRefresh => "installed --refresh",
            Self::TraceRecord => "trace",
            Self::TraceShow => "trace show, trace sql, trace import",
            Self::View => "view",
            Self::ViewOpen => "view --open",
            Self::Speedup => "speedup",
        }
    }
}

/// The status of an ability, after all checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The ability.
    pub ability: Ability,
    /// Its verb.
    pub verb: Verb,
    /// The worst effect of any check.
    pub status: Status,
    /// The reasons given by the worst checks.
    pub because: Vec<String>,
    /// The names of these checks.
    pub checks: Vec<String>,
}

/// The status of each ability.
pub fn standings(checks: &[Check]) -> Vec<Standing> {
    Ability::ALL.iter().map(|&ability| standing(ability, checks)).collect()
}

fn standing(ability: Ability, checks: &[Check]) -> Standing {
    let effects = || {
        checks
            .iter()
            .flat_map(|check| check.effects.iter().map(move |effect| (check, effect)))
            .filter(|(_, effect)| effect.ability == ability)
    };
    let status = effects().map(|(_, effect)| effect.leaves).max().unwrap_or_default();
    let mut standing = Standing { ability, verb: ability.verb(), status, because: Vec::new(), checks: Vec::new() };
    for (check, effect) in effects().filter(|(_, effect)| effect.leaves == status) {
        standing.checks.push(check.name.clone());
        if !standing.because.contains(&effect.because) {
            standing.because.push(effect.because.clone());
        }
    }
    standing
}

/// Verbs without any working ability.
pub fn impossible_verbs(standings: &[Standing]) -> Vec<Verb> {
    let mut verbs = Vec::new();
    for standing in standings.iter().filter(|standing| standing.status == Status::No) {
        let of_verb = || standings.iter().filter(|other| other.verb == standing.verb);
        if of_verb().all(|other| other.status == Status::No) && !verbs.contains(&standing.verb) {
            verbs.push(standing.verb);
        }
    }
    verbs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_is_impossible_when_all_its_abilities_are() {
        let none = Check::new("a", Status::No, "").leaves(Status::No, &[Ability::MeasureCold, Ability::Speedup], "x");
        let found = standings(std::slice::from_ref(&none));
        assert_eq!(impossible_verbs(&found), [Verb::Speedup]);
        let rest = [Ability::MeasureBoot, Ability::MeasureSelective, Ability::MeasureHot, Ability::MeasureWindow];
        let worse = Check::new("b", Status::No, "").leaves(Status::No, &rest, "y");
        assert_eq!(impossible_verbs(&standings(&[none, worse])), [Verb::Measure, Verb::Speedup]);
    }

    #[test]
    fn the_worst_check_counts_and_is_named() {
        let partly = Check::new("a", Status::No, "").leaves(Status::Partly, &[Ability::Pack], "a little");
        let unknown = Check::new("b", Status::Unknown, "").leaves(Status::Unknown, &[Ability::Pack], "who knows");
        let found = standings(&[unknown, partly]);
        let pack = found.iter().find(|standing| standing.ability == Ability::Pack).unwrap();
        assert_eq!((pack.status, pack.checks.as_slice()), (Status::Partly, ["a".to_owned()].as_slice()));
        assert_eq!(found.iter().find(|standing| standing.ability == Ability::Verify).unwrap().status, Status::Yes);
    }
}
