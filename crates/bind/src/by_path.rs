//! Modes `absolute` and `origin`: the libraries' paths instead of their names.
//!
//! The program's plain names stay after the paths: loaded libraries match them by `DT_SONAME`, without a search, and
//! old loaders check symbol versions against the requested names. A name that differs from the library's `DT_SONAME`
//! is still searched, and found to be the same file.

use std::path::Path;

use coldstart_loader::{Closure, Environment, FoundBy, Known};

use crate::hoist::{Answer, Hoisted, lossy, utf8};
use crate::origin::{PROGRAM, bytes, has_token, path, way, without_dots};
use crate::plan::{Made, bound_closure, planned_facts};
use crate::search_path::effective;
use crate::soname::inherited_paths_lost;
use crate::subject::{AtLevel, Subject};
use crate::survey::Legacy;
use crate::{Caution, Files, Mode, Options, Refusal, proof};

/// Plans the list of paths and verifies it.
pub(crate) fn make(
    subject: &Subject,
    levels: &[AtLevel],
    files: &impl Files,
    environment: &Environment,
    options: &Options,
) -> Result<Made, Refusal> {
    // With given levels, the paths of the best; otherwise no library may have variants.
    let chosen = if options.levels.is_some() { levels.last() } else { levels.first() };
    let Some(chosen) = chosen else { return Err(Refusal::NothingToBind) };
    if options.levels.is_none() {
        no_variants(levels)?;
    }
    let mut needed: Vec<String> = Vec::new();
    for name in &chosen.hoisted {
        let text = match &name.answer {
            Answer::Found(found) => text_of(subject, chosen, options, name, found)?,
            Answer::Path => name.text.clone(),
            // The interpreter's name stays where it enters the order; another name of a loaded file must not.
            Answer::Loaded if is_interpreter(&chosen.survey.closure, name.object) => name.text.clone(),
            Answer::Loaded | Answer::SameFile(_) => continue,
        };
        if !needed.contains(&text) {
            needed.push(text);
        }
    }
    if needed.iter().all(|name| !name.contains('/')) {
        return Err(Refusal::NothingToBind);
    }
    for name in subject.facts.needed.iter().filter(|name| !name.contains(&b'/') && !has_token(name)) {
        let name = utf8(name.clone())?;
        if !needed.contains(&name) {
            needed.push(name);
        }
    }
    let path = effective(&subject.facts)?;
    let facts = planned_facts(&subject.facts, &needed, path.as_ref());
    let closure = |hwcaps| bound_closure(subject, files, environment, &facts, None, hwcaps);
    let bound = closure(Legacy::AsGiven.with(&chosen.levels, &environment.hwcaps))?;
    proof::same(&chosen.survey.closure, &bound)?;
    let bound = closure(environment.hwcaps.clone())?;
    let mut cautions = vec![Caution::LdLibraryPathLost, Caution::PreloadTwice];
    cautions.extend(residual(&bound));
    cautions.extend(inherited_paths_lost(chosen, environment.rules));
    Ok(Made { needed, path, farm: None, cautions, bound: Some(bound) })
}

/// A library's path as stored in the program.
fn text_of(
    subject: &Subject,
    level: &AtLevel,
    options: &Options,
    name: &Hoisted,
    found: &Path,
) -> Result<String, Refusal> {
    let in_tree = || {
        let root = options.root.as_deref()?;
        let (root, found) = (without_dots(root), without_dots(found));
        let origin = subject.output.parent()?;
        (origin.starts_with(&root) && found.starts_with(&root)).then(|| way(origin, &found))
    };
    let by_origin = match options.mode {
        Mode::Origin if level.tree.moves_along(name.object) => Some(level.tree.text(name.object, bytes(found))),
        Mode::Origin => in_tree().map(|way| [b"$ORIGIN/", bytes(&way)].concat()),
        _ => None,
    };
    let rest = by_origin.as_ref().and_then(|text| text.strip_prefix(b"$ORIGIN")).unwrap_or(bytes(found));
    if has_token(rest) {
        return Err(Refusal::PathText(path(rest).display().to_string(), "a `$`, which the loader expands"));
    }
    utf8(by_origin.unwrap_or_else(|| bytes(found).to_vec()))
}

/// Refuses libraries with variants at any level.
fn no_variants(levels: &[AtLevel]) -> Result<(), Refusal> {
    let Some((base, higher)) = levels.split_first() else { return Ok(()) };
    for level in higher {
        let differs = base.hoisted.iter().zip(&level.hoisted).find(|(here, there)| here.found() != there.found());
        if let Some((here, _)) = differs {
            return Err(Refusal::LevelVariants { library: here.text.clone() });
        }
    }
    Ok(())
}

fn is_interpreter(closure: &Closure, object: usize) -> bool {
    closure.objects.get(object).is_some_and(|object| object.found_by == FoundBy::Interpreter)
}

/// Names that are still searched although their file is loaded, and the cost.
fn residual(bound: &Closure) -> Vec<Caution> {
    let mut cautions: Vec<Caution> = Vec::new();
    let searched = bound.requests.iter().filter(|request| {
        request.found_by == Some(FoundBy::AlreadyLoaded(Known::SameFile)) && !request.needed.contains(&b'/')
    });
    for request in searched {
        let object = request.object.filter(|object| *object != PROGRAM).and_then(|object| bound.objects.get(object));
        let soname = object.and_then(|object| object.facts.soname.as_deref()).map(lossy);
        let caution = Caution::NameIsNotSoname { library: lossy(&request.needed), soname };
        if !cautions.contains(&caution) {
            cautions.push(caution);
        }
    }
    let count = bound.failed_probes.len();
    cautions.extend((count > 0).then_some(Caution::ResidualProbes { count }));
    cautions
}
