//! Indexes of modules: `coldstart index` beside plain starts and farms of links, in programs with many directories of modules.
//!
//! A language adds a file with its worlds ([`world::Recipe`]) and a benchmark of its own. Hot, a world lies on this machine's disk; cold,
//! on a file system that takes a millisecond for each request and is mounted anew for each start, the index included.
//! The interpreter and `coldstart` are always local.
//!
//! Not obvious: a world has the same path in both, for it is mounted there, so that names in the index and in variables stay the same. But
//! an index belongs to a file system, so each state has its own.

mod guile;
mod mounted;
mod node;
mod perl;
mod python;
mod ruby;
mod ways;
mod world;

use anyhow::{Context, Result};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::figure::{Asked, Figure, Unit};
use super::pack_files::empty_directory;
use super::record::Record;
use super::statistics::ratio_estimate;
use super::workshop::Workshop;
use crate::tools::{Tool, tool};
use mounted::{Mounted, slow_tree};
use ways::{calls, printed, timed, with_environment, with_launcher};
use world::{Limits, Recipe, Site, Way};

/// What must be installed for all languages.
pub(super) const TOOLS: &[Tool] = &[
    tool("strace", "strace"),
    tool("mount", "mount"),
    tool("gcc", "gcc"),
    tool("/usr/include/stdio.h", "libc6-dev"),
    tool("pkg-config", "pkg-config"),
    tool("/usr/include/fuse3/fuse.h", "libfuse3-dev"),
    tool("fusermount3", "fuse3"),
    tool("/usr/bin/python3", "python3"),
    tool("/usr/lib/python3/dist-packages/pip/__init__.py", "python3-pip"),
    tool("/usr/bin/perl", "perl"),
    tool("/usr/bin/guile", "guile-3.0"),
    tool("/usr/bin/ruby", "ruby"),
    tool("/usr/lib/ruby/vendor_ruby/bootsnap.rb", "ruby-bootsnap"),
    tool("bundle", "ruby-bundler"),
    // A Rails application: the registry of gems has other versions each day, Debian has those of its release.
    tool("/usr/share/doc/ruby-rails", "ruby-rails"),
    tool("/usr/share/doc/puma", "puma"),
    tool("/usr/share/doc/ruby-sqlite3", "ruby-sqlite3"),
    tool("/usr/share/doc/ruby-sprockets-rails", "ruby-sprockets-rails"),
    tool("/usr/share/doc/ruby-sass-rails", "ruby-sass-rails"),
    tool("/usr/share/doc/ruby-turbolinks", "ruby-turbolinks"),
    tool("/usr/share/doc/ruby-jbuilder", "ruby-jbuilder"),
    tool("/usr/share/doc/ruby-devise", "ruby-devise"),
    tool("/usr/share/doc/ruby-kaminari", "ruby-kaminari"),
    tool("/usr/share/doc/ruby-pundit", "ruby-pundit"),
    tool("/usr/share/doc/ruby-redis", "ruby-redis"),
    tool("/usr/share/doc/ruby-haml", "ruby-haml"),
    tool("/usr/share/doc/ruby-httparty", "ruby-httparty"),
    tool("/usr/share/doc/ruby-faraday", "ruby-faraday"),
    tool("/usr/share/doc/ruby-capybara", "ruby-capybara"),
    tool("/usr/share/doc/ruby-rspec", "ruby-rspec"),
    tool("/usr/share/doc/ruby-factory-bot", "ruby-factory-bot"),
    tool("/usr/bin/node", "nodejs"),
];

/// Cold starts of each way: one takes up to half a minute.
const COLD_RUNS: u32 = 3;
/// The name of the way under test.
const INDEX: &str = "index";

/// A benchmark of one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    PythonPrograms,
    Perl,
    Guile,
    Ruby,
    Node,
}

impl Language {
    fn recipes(self) -> &'static [Recipe] {
        match self {
            Self::Python => python::SYNTHETIC,
            Self::PythonPrograms => python::PROGRAMS,
            Self::Perl => perl::RECIPES,
            Self::Guile => guile::RECIPES,
            Self::Ruby => ruby::RECIPES,
            Self::Node => node::RECIPES,
        }
    }
}

/// What was measured in a world.
#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    world: String,
    limits: Limits,
    /// The plain way first.
    ways: Vec<MeasuredWay>,
}

#[derive(Debug, Serialize, Deserialize)]
struct MeasuredWay {
    name: String,
    /// Calls that name a file.
    calls: u64,
    /// Seconds, in rounds.
    hot: Vec<f64>,
    cold: Vec<f64>,
}

pub(super) fn measure(workshop: &Workshop, record: &mut Record, language: Language) -> Result<()> {
    let directory = empty_directory(workshop, "index")?;
    let server = slow_tree(workshop, &directory)?;
    let mut worlds = Vec::new();
    for (number, recipe) in language.recipes().iter().enumerate() {
        let site =
            Site { source: directory.join(format!("source{number}")), seen: directory.join(format!("seen{number}")) };
        fs::create_dir_all(&site.source)?;
        fs::create_dir_all(&site.seen)?;
        let world = (recipe.build)(workshop, &site).with_context(|| format!("cannot build `{}`", recipe.name))?;
        let mut ways = vec![world.plain.clone()];
        ways.extend(world.others.iter().cloned());
        let mut measured: Vec<MeasuredWay> = Vec::new();

        let bound = Mounted::bound(workshop, &site)?;
        make(workshop, &site, &world.plain, "hot.index")?;
        let mut hot = ways.clone();
        hot.push(with_environment(workshop, &world.plain, &site.seen("hot.index"), INDEX)?);
        let expected = printed(workshop, &world.plain)?;
        for way in &hot {
            let found = printed(workshop, way)?;
            let is_same = found == expected || way.name != INDEX;
            anyhow::ensure!(is_same, "with the index `{}` prints {found:?}, not {expected:?}", recipe.name);
            let calls = calls(workshop, way)?;
            measured.push(MeasuredWay { name: way.name.clone(), calls, hot: Vec::new(), cold: Vec::new() });
        }
        for _ in 0..record.runs {
            for (way, into) in hot.iter().zip(&mut measured) {
                into.hot.push(timed(workshop, way)?);
            }
        }
        bound.close()?;

        let fast = Mounted::slow(workshop, &server, &site, 0)?;
        make(workshop, &site, &world.plain, "cold.index")?;
        fast.close()?;
        ways.push(with_launcher(workshop, &world.plain, &site.seen("cold.index"), INDEX));
        for _ in 0..COLD_RUNS.min(record.runs) {
            for (way, into) in ways.iter().zip(&mut measured) {
                let slow = Mounted::slow(workshop, &server, &site, 1000)?;
                into.cold.push(timed(workshop, way)?);
                slow.close()?;
            }
        }
        worlds.push(Measured { world: recipe.name.to_owned(), limits: world.limits, ways: measured });
    }
    record.add("worlds", serde_json::to_value(worlds)?);
    Ok(fs::remove_dir_all(&directory)?)
}

/// Makes an index in the source of a site, of which programs see another name.
fn make(workshop: &Workshop, site: &Site, plain: &Way, name: &str) -> Result<()> {
    let mut command = plain.environment();
    command.extend(workshop.coldstart(["index", "make", "--json", "-o"]));
    command.extend([super::workshop::text(&site.source.join(name)), "--".to_owned()]);
    command.extend(plain.command.iter().cloned());
    workshop.runner.json(&command, &[0]).context("no index could be made")?;
    Ok(())
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let worlds = Vec::<Measured>::deserialize(record.part("worlds")?).context("`worlds` holds no worlds")?;
    Ok(worlds.iter().flat_map(figures_of).collect())
}

fn figures_of(measured: &Measured) -> Vec<Figure> {
    let Some((plain, others)) = measured.ways.split_first() else { return Vec::new() };
    let world = &measured.world;
    let mut figures = vec![
        Figure::new(format!("{world}: plain, calls by name"), Unit::Count, Asked::Nothing, Some(plain.calls as f64)),
        Figure::of_times(format!("{world}: plain, hot"), Unit::Milliseconds, Asked::Nothing, &plain.hot),
        Figure::of_times(format!("{world}: plain, cold"), Unit::Seconds, Asked::Nothing, &plain.cold),
    ];
    for way in others {
        let what = |what: &str| format!("{world}: {}, {what}", way.name);
        let asked = |limit: Option<f64>, asked: fn(f64) -> Asked| match limit {
            Some(limit) if way.name == INDEX => asked(limit),
            _ => Asked::Nothing,
        };
        let Limits { calls, hot, cold } = measured.limits;
        let part = way.calls as f64 / plain.calls.max(1) as f64;
        let pairs = |one: &[f64], other: &[f64]| one.iter().copied().zip(other.iter().copied()).collect::<Vec<_>>();
        let (hot_pairs, cold_pairs) = (pairs(&way.hot, &plain.hot), pairs(&plain.cold, &way.cold));
        figures.extend([
            Figure::new(what("calls by name"), Unit::Count, Asked::Nothing, Some(way.calls as f64)),
            Figure::new(what("calls by name / plain"), Unit::Times, asked(calls, Asked::AtMost), Some(part)),
            Figure::of_times(what("hot"), Unit::Milliseconds, Asked::Nothing, &way.hot),
            Figure::of_estimate(
                what("hot / plain"),
                Unit::Times,
                asked(hot, Asked::AtMost),
                ratio_estimate(&hot_pairs),
                hot_pairs.len(),
            ),
            Figure::of_times(what("cold"), Unit::Seconds, Asked::Nothing, &way.cold),
            Figure::of_estimate(
                what("cold, times as fast as plain"),
                Unit::Times,
                asked(cold, Asked::AtLeast),
                ratio_estimate(&cold_pairs),
                cold_pairs.len(),
            ),
        ]);
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use serde_json::json;

    #[test]
    fn only_the_index_is_judged() {
        let mut record = Record::begin(Benchmark::IndexPerl, "2025-01-02", 2).unwrap();
        let way = |name: &str, calls: u64, hot: f64, cold: f64| json!({"name": name, "calls": calls, "hot": [hot, hot * 1.1], "cold": [cold, cold * 1.1]});
        record.add(
            "worlds",
            json!([{"world": "perl", "limits": {"calls": 0.04, "hot": 0.57, "cold": 10.0}, "ways": [
                way("plain", 1000, 0.1, 20.0), way("link farm", 10, 0.01, 1.0), way("index", 50, 0.05, 1.0)]}]),
        );
        let figures = figures(&record).unwrap();
        assert_eq!(figures.iter().filter_map(Figure::is_met).collect::<Vec<_>>(), [false, true, true]);
        let judged = figures.iter().find(|figure| figure.what == "perl: index, cold, times as fast as plain").unwrap();
        assert!((judged.value.unwrap() - 20.0).abs() < 1e-9);
    }
}
