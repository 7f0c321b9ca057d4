//! Mode `soname`: all names in load order, and a link directory first on the search path.

use std::path::PathBuf;

use coldstart_loader::{Closure, Environment, FailedProbe, FoundBy, ObjectFacts, Rules};

use crate::beside::usual_farm;
use crate::farm::{FarmPlan, LevelNames, Place, plan_farm};
use crate::hoist::{Answer, Hoisted};
use crate::keep::{Kept, directories};
use crate::options::FarmText;
use crate::origin::{PROGRAM, has_origin, way, without_dots};
use crate::plan::{Made, bound_closure, planned_facts};
use crate::search_path::{effective, with_first};
use crate::subject::{AtLevel, Subject, followed};
use crate::survey::Legacy;
use crate::{Caution, Files, Options, Refusal, SearchText, TagName, proof};

/// Plans names, links and search path, and verifies them.
pub(crate) fn make(
    subject: &Subject,
    levels: &[AtLevel],
    files: &impl Files,
    environment: &Environment,
    options: &Options,
) -> Result<Made, Refusal> {
    let Some(base) = levels.first() else { return Err(Refusal::NothingToBind) };
    if base.hoisted.iter().all(|name| name.found().is_none()) {
        return Err(Refusal::NothingToBind);
    }
    let kept = all_kept(levels);
    let names: Vec<String> = kept.iter().map(|kept| kept.name.clone()).collect();
    let (directory, text) = farm_place(subject, files, environment, options)?;
    let place = Place { directory: &directory, text, program: &subject.output };
    let by_level: Vec<LevelNames<'_>> = levels.iter().map(AtLevel::names).collect();
    let farm = plan_farm(place, &by_level, &names)?;

    let original = effective(&subject.facts)?;
    let needed: Vec<String> = base.hoisted.iter().map(|name| name.text.clone()).collect();
    let planned = |kept_by_path: &[Kept]| -> Result<(SearchText, ObjectFacts), Refusal> {
        let own = directories(&base.hoisted, kept_by_path, &base.tree, files)?;
        let first_own = original.as_ref().and_then(|path| path.text.split(':').next());
        // A directory that is searched first anyway need not be listed twice.
        let own = if own.len() == 1 && own.first().map(String::as_str) == first_own { Vec::new() } else { own };
        let first: Vec<String> = std::iter::once(farm.text.clone()).chain(own).collect();
        let path = with_first(&first, original.as_ref());
        let facts = planned_facts(&subject.facts, &needed, Some(&path));
        for level in levels {
            let hwcaps = Legacy::AsGiven.with(&level.levels, &environment.hwcaps);
            let bound = bound_closure(subject, files, environment, &facts, Some(&farm), hwcaps)?;
            let objects: Vec<usize> = kept.iter().map(|kept| kept.object).collect();
            proof::same(&level.survey.closure, &bound)?;
            proof::same_directories(&level.survey.closure, &bound, &objects, files)?;
            proof::no_search(&bound, |probe| is_expected(probe, &farm, &names))?;
        }
        Ok((path, facts))
    };
    // The system's directories are searched last anyway. Listed before the program's own, they would take precedence
    // for libraries opened later.
    let outside: Vec<Kept> = kept.iter().filter(|kept| !found_last(base, kept)).cloned().collect();
    let (path, facts) = planned(&outside).or_else(|_| planned(&kept))?;
    let bound = bound_closure(subject, files, environment, &facts, Some(&farm), environment.hwcaps.clone())?;
    let mut cautions = cautions(subject, base, environment, &path, &kept, &bound);
    cautions.extend(
        options
            .keep_path
            .iter()
            .filter(|asked| !is_kept(base, &kept, asked))
            .map(|library| Caution::NotSearched { library: library.clone() }),
    );
    Ok(Made { needed, path: Some(path), farm: Some(farm), cautions, bound: Some(bound) })
}

impl AtLevel {
    fn names(&self) -> LevelNames<'_> {
        LevelNames { level: self.levels.first().map(String::as_str), hoisted: &self.hoisted, tree: &self.tree }
    }
}

/// Whether the original finds it at the end of its search: in the loader's cache or its default directories.
fn found_last(base: &AtLevel, kept: &Kept) -> bool {
    let found_by = base.survey.closure.objects.get(kept.object).map(|object| object.found_by);
    matches!(found_by, Some(FoundBy::LdSoCache | FoundBy::DefaultDirectory))
}

/// Libraries that keep their path at any level, without duplicates.
fn all_kept(levels: &[AtLevel]) -> Vec<Kept> {
    let mut all: Vec<Kept> = Vec::new();
    for kept in levels.iter().flat_map(|level| &level.kept) {
        if !all.iter().any(|known| known.name == kept.name) {
            all.push(kept.clone());
        }
    }
    all
}

/// Whether a library keeps its path, by requested name or soname.
fn is_kept(base: &AtLevel, kept: &[Kept], asked: &str) -> bool {
    kept.iter().any(|kept| {
        let soname = base.survey.closure.objects.get(kept.object).and_then(|object| object.facts.soname.as_deref());
        kept.name == asked || soname == Some(asked.as_bytes())
    })
}

/// Whether a failed probe is expected: in level subdirectories of the link directory, which may have entries on other
/// machines, and on the way to libraries that keep their path.
fn is_expected(probe: &FailedProbe, farm: &FarmPlan, kept: &[String]) -> bool {
    let path = without_dots(&probe.path);
    let in_subdirectory = path.starts_with(&farm.directory) && path.parent() != Some(farm.directory.as_path());
    in_subdirectory || kept.iter().any(|kept| kept.as_bytes() == probe.needed)
}

/// The path of the link directory, and its name on the search path.
fn farm_place(
    subject: &Subject,
    files: &impl Files,
    environment: &Environment,
    options: &Options,
) -> Result<(PathBuf, String), Refusal> {
    let origin = subject.output.parent().unwrap_or(std::path::Path::new("/"));
    let directory = match &options.farm {
        Some(farm) if !farm.is_absolute() => return Err(Refusal::NotAbsolute(farm.clone())),
        Some(farm) => followed(files, farm),
        None => usual_farm(&subject.output),
    };
    let by_origin = match options.farm_text {
        FarmText::Auto => !environment.secure && directory.starts_with(origin),
        FarmText::Origin => true,
        FarmText::Absolute => false,
    };
    if environment.secure {
        if by_origin {
            return Err(Refusal::SecureMode("glibc ignores `$ORIGIN` directories in secure mode"));
        }
        let changeable = files.changeable_by_others(&directory);
        let changeable =
            changeable.map_err(|error| Refusal::File { path: directory.clone(), reason: error.to_string() })?;
        if let Some(directory) = changeable {
            return Err(Refusal::FarmNotSafe(directory));
        }
    }
    let path = if by_origin { way(origin, &directory) } else { directory.clone() };
    let text = path.to_str().ok_or_else(|| Refusal::NotUtf8(directory.display().to_string()))?;
    for (sign, what) in [(':', "a colon"), ('\0', "a zero byte"), ('$', "`$`"), ('\n', "a newline")] {
        if text.contains(sign) {
            return Err(Refusal::PathText(text.to_owned(), what));
        }
    }
    let text = if by_origin { format!("$ORIGIN/{text}") } else { text.to_owned() };
    Ok((directory, text))
}

/// Differences under other circumstances.
fn cautions(
    subject: &Subject,
    base: &AtLevel,
    environment: &Environment,
    path: &SearchText,
    kept: &[Kept],
    bound: &Closure,
) -> Vec<Caution> {
    let mut cautions = Vec::new();
    let closure = &base.survey.closure;
    let object = |name: &Hoisted| closure.objects.get(name.object);
    let found = || base.hoisted.iter().filter(|name| matches!(name.answer, Answer::Found(_)));
    let named = |which: &dyn Fn(&Hoisted) -> bool| -> Vec<String> {
        found().filter(|name| which(name)).map(|name| name.text.clone()).collect()
    };
    if environment.rules == Rules::Glibc {
        let by_rpath =
            |name: &Hoisted| object(name).is_some_and(|object| matches!(object.found_by, FoundBy::Rpath { .. }));
        if path.kind == TagName::Rpath {
            let libraries = named(&|name| !by_rpath(name));
            cautions.extend((!libraries.is_empty()).then_some(Caution::NotOverridable { libraries }));
        } else {
            let libraries = named(&by_rpath);
            cautions.extend((!libraries.is_empty()).then_some(Caution::NowOverridable { libraries }));
        }
    }
    for library in kept {
        let failed = bound.failed_probes.iter().filter(|probe| probe.needed == library.name.as_bytes());
        let failed_probes = failed.count();
        cautions.push(Caution::KeepsPath { library: library.name.clone(), reason: library.reason, failed_probes });
    }
    cautions.extend(inherited_paths_lost(base, environment.rules));
    let moves = subject.output.parent() != subject.program.parent();
    let own = subject.facts.runpath.as_deref().or(subject.facts.rpath.as_deref()).unwrap_or_default();
    cautions.extend((moves && has_origin(own)).then_some(Caution::OriginMoves));
    cautions
}

/// Libraries that may open others and inherited a search path from their requester: now the program loads them.
pub(crate) fn inherited_paths_lost(base: &AtLevel, rules: Rules) -> Vec<Caution> {
    let objects = &base.survey.closure.objects;
    let path_of = |index: usize| {
        let facts = &objects.get(index)?.facts;
        let path = if rules == Rules::Musl {
            facts.runpath.as_deref().or(facts.rpath.as_deref())
        } else {
            facts.effective_rpath()
        };
        path.filter(|path| !path.is_empty())
    };
    let mut lost = Vec::new();
    for (index, object) in objects.iter().enumerate().skip(1) {
        let opens = base.details.get(index).is_some_and(|details| details.imports_dlopen);
        if !opens || (rules == Rules::Glibc && object.facts.runpath.is_some()) {
            continue;
        }
        let mut next = object.requester;
        while let Some(from) = next.filter(|from| *from != PROGRAM) {
            if path_of(from).is_some() {
                let shown = |index: usize| objects.get(index).map(|object| object.path.display().to_string());
                let (library, from) = (shown(index).unwrap_or_default(), shown(from).unwrap_or_default());
                lost.push(Caution::InheritedPathLost { library, from });
                break;
            }
            next = objects.get(from).and_then(|object| object.requester);
        }
    }
    lost
}
