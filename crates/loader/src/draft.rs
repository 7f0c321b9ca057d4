//! A closure under construction: its objects are in map order, which differs from the symbol lookup order.

use std::io;
use std::path::Path;

use crate::{
    Closure, Environment, Error, FailedProbe, Fault, FileSystem, FoundBy, LoadedObject, Missing, ObjectFacts, Probe,
    ProbeFailure, Request, Start, Stopped,
};

/// Index of the program in every draft and closure.
pub(crate) const PROGRAM: usize = 0;

/// The closure so far; its object indices change when it is finished.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) closure: Closure,
}

impl Draft {
    /// Starts with the program.
    pub(crate) fn begin(program: &Path, system: &impl FileSystem) -> Result<Self, Error> {
        let name = std::os::unix::ffi::OsStrExt::as_bytes(program.as_os_str());
        let refuse = |reason| Error::Program { path: program.to_owned(), reason };
        let (identity, facts) = match system.object(program) {
            Probe::Object { identity, facts } => (identity, facts),
            Probe::Absent(kind) => return Err(refuse(ProbeFailure::Absent(kind))),
            Probe::NotAnObject(reason) => return Err(refuse(ProbeFailure::NotAnObject(reason))),
        };
        let mut draft = Self::default();
        draft.closure.objects.push(LoadedObject {
            path: program.to_owned(),
            name_asked: name.to_vec(),
            found_by: FoundBy::Program,
            requester: None,
            preloaded: false,
            in_scope: true,
            identity,
            facts,
        });
        Ok(draft)
    }

    /// Starts with the objects of a finished closure, without its probes.
    pub(crate) fn again(closure: &Closure) -> Self {
        Self { closure: Closure { objects: closure.objects.clone(), ..Closure::default() } }
    }

    /// Discards the probes of a search that was only simulated.
    pub(crate) fn forget_search(&mut self) {
        self.closure = Closure { objects: std::mem::take(&mut self.closure.objects), ..Closure::default() };
    }

    /// Adds the interpreter of the program, or the one of the environment.
    pub(crate) fn add_interpreter(
        &mut self,
        system: &impl FileSystem,
        environment: &Environment,
    ) -> Result<Option<usize>, Error> {
        let Some(program) = self.closure.objects.first() else { return Ok(None) };
        let own = program.facts.interpreter.clone();
        let path = match environment.start {
            Start::Kernel => own.clone().or_else(|| environment.interpreter.clone()),
            Start::Loader => environment.interpreter.clone().or_else(|| own.clone()),
        };
        let Some(path) = path else { return Ok(None) };
        let name = own.unwrap_or_else(|| path.clone());
        let refuse = |reason| Error::Interpreter {
            program: program.path.clone(),
            path: crate::names::path(&path).to_owned(),
            reason,
        };
        let (identity, facts) = match system.object(crate::names::path(&path)) {
            Probe::Object { identity, facts } => match misfit(&program.facts, &facts) {
                None => (identity, facts),
                Some(failure) => return Err(refuse(failure)),
            },
            Probe::Absent(kind) => return Err(refuse(ProbeFailure::Absent(kind))),
            Probe::NotAnObject(reason) => return Err(refuse(ProbeFailure::NotAnObject(reason))),
        };
        self.closure.objects.push(LoadedObject {
            path: crate::names::path(&path).to_owned(),
            name_asked: name,
            found_by: FoundBy::Interpreter,
            requester: Some(PROGRAM),
            preloaded: false,
            in_scope: false,
            identity,
            facts,
        });
        Ok(Some(self.closure.objects.len() - 1))
    }

    /// Records a failed probe.
    pub(crate) fn fail(&mut self, asked: Asked<'_>, path: &[u8], rule: FoundBy, failure: ProbeFailure) {
        let (requester, needed, path) = (asked.requester, asked.needed.to_vec(), crate::names::path(path).to_owned());
        self.closure.failed_probes.push(FailedProbe { requester, needed, path, rule, failure });
    }

    /// Records what ends the start.
    pub(crate) fn stop(&mut self, asked: Asked<'_>, path: &[u8], reason: ProbeFailure) {
        let (requester, needed, path) = (asked.requester, asked.needed.to_vec(), crate::names::path(path).to_owned());
        self.closure.stopped = Some(Stopped { requester, needed, path, reason });
    }

    /// Records the object found for a name.
    pub(crate) fn answer(&mut self, asked: Asked<'_>, answer: Answer<'_>) {
        self.note(asked, answer.name_asked, Some((answer.object, answer.found_by)), answer.opened);
    }

    /// Records a missing name; `name_asked` is the name after expansion.
    pub(crate) fn miss(&mut self, asked: Asked<'_>, name_asked: &[u8]) {
        let (requester, needed, preload) = (asked.requester, asked.needed.to_vec(), asked.preload);
        self.closure.missing.push(Missing { requester, needed, name_asked: name_asked.to_vec(), preload });
        self.note(asked, name_asked, None, None);
    }

    fn note(&mut self, asked: Asked<'_>, name_asked: &[u8], answer: Option<(usize, FoundBy)>, opened: Option<&[u8]>) {
        self.closure.requests.push(Request {
            requester: asked.requester,
            needed: asked.needed.to_vec(),
            name_asked: name_asked.to_vec(),
            object: answer.map(|(object, _)| object),
            found_by: answer.map(|(_, found_by)| found_by),
            preload: asked.preload,
            opened: opened.map(|path| crate::names::path(path).to_owned()),
            failed_before: self.closure.failed_probes.len(),
        });
    }

    /// The closure with its objects in the given order; omitted objects come last, out of scope.
    pub(crate) fn finish(self, mut order: Vec<usize>) -> Closure {
        let mut closure = self.closure;
        let count = closure.objects.len();
        let mut is_placed = vec![false; count];
        for &object in &order {
            if let Some(is_placed) = is_placed.get_mut(object) {
                *is_placed = true;
            }
        }
        order.extend(is_placed.iter().enumerate().filter(|(_, placed)| !**placed).map(|(object, _)| object));
        let mut place = vec![0; count];
        for (new, &old) in order.iter().enumerate() {
            if let Some(place) = place.get_mut(old) {
                *place = new;
            }
        }
        let moved = |old: usize| place.get(old).copied().unwrap_or(old);
        let moved_rule = |rule: FoundBy| match rule {
            FoundBy::Rpath { of } => FoundBy::Rpath { of: moved(of) },
            FoundBy::Runpath { of } => FoundBy::Runpath { of: moved(of) },
            rule => rule,
        };
        for object in &mut closure.objects {
            object.requester = object.requester.map(moved);
            object.found_by = moved_rule(object.found_by);
        }
        let mut slots: Vec<Option<LoadedObject>> = closure.objects.into_iter().map(Some).collect();
        closure.objects = order.iter().filter_map(|&old| slots.get_mut(old).and_then(Option::take)).collect();
        for request in &mut closure.requests {
            request.requester = moved(request.requester);
            request.object = request.object.map(moved);
            request.found_by = request.found_by.map(moved_rule);
        }
        for probe in &mut closure.failed_probes {
            probe.requester = moved(probe.requester);
            probe.rule = moved_rule(probe.rule);
        }
        for missing in &mut closure.missing {
            missing.requester = moved(missing.requester);
        }
        if let Some(stopped) = &mut closure.stopped {
            stopped.requester = moved(stopped.requester);
        }
        closure
    }
}

/// A requested name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) requester: usize,
    pub(crate) needed: &'a [u8],
    pub(crate) preload: bool,
}

/// The object found for a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) name_asked: &'a [u8],
    pub(crate) object: usize,
    pub(crate) found_by: FoundBy,
    /// The file that was opened for it.
    pub(crate) opened: Option<&'a [u8]>,
}

/// Why an object does not fit the program, in the order of checks of `open_verify` in elf/dl-load.c.
pub(crate) fn misfit(program: &ObjectFacts, object: &ObjectFacts) -> Option<ProbeFailure> {
    if object.class != program.class {
        Some(ProbeFailure::OtherClass)
    } else if object.little_endian != program.little_endian {
        Some(ProbeFailure::OtherByteOrder)
    } else if let Some(Fault::Identification(reason)) = object.fault {
        Some(ProbeFailure::NotAnObject(reason.to_owned()))
    } else if object.machine != program.machine {
        Some(ProbeFailure::OtherMachine)
    } else if let Some(Fault::Header(reason)) = object.fault {
        Some(ProbeFailure::NotAnObject(reason.to_owned()))
    } else {
        None
    }
}

/// The same for a file found by a search, in the order of the environment's loader.
///
/// In upstream glibc, anything odd in `e_ident`, including the byte order, ends the start even when the object is for
/// another architecture. Debian's `open_verify`, and Ubuntu's after it, checks the architecture first whenever
/// `e_ident` is odd, and skips what is obviously built for others. It reads `e_machine` in its own byte order,
/// whatever the file's.
pub(crate) fn misfit_in_search(
    program: &ObjectFacts,
    object: &ObjectFacts,
    environment: &Environment,
) -> Option<ProbeFailure> {
    let is_swapped = object.little_endian != program.little_endian;
    let machine = if is_swapped { object.machine.swap_bytes() } else { object.machine };
    let is_odd = is_swapped || object.fault.is_some_and(Fault::is_in_identification);
    if object.class == program.class && is_odd && machine != program.machine && !environment.strict_identification {
        return Some(ProbeFailure::OtherMachine);
    }
    misfit(program, object)
}

/// Whether a loader tries the next directory after this `open` error; it abandons the list after others.
pub(crate) fn goes_on_after(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use super::misfit_in_search;
    use crate::{Class, Environment, Fault, ObjectFacts, ProbeFailure};

    #[test]
    fn distributions_look_at_the_machine_of_odd_objects_or_not() {
        let program = ObjectFacts { class: Class::Bits64, little_endian: true, machine: 62, ..ObjectFacts::default() };
        // A library for s390x, and one of ours whose byte order alone is odd, so that the machine is read the wrong
        // way.
        let foreign = ObjectFacts { little_endian: false, machine: 22, ..program.clone() };
        let odd = ObjectFacts { little_endian: false, machine: 62_u16.swap_bytes(), ..program.clone() };
        let padded = ObjectFacts { machine: 183, fault: Some(Fault::Identification("odd")), ..program.clone() };
        let debian = Environment::default();
        let plain = Environment { strict_identification: true, ..Environment::default() };
        let under = |object, environment| misfit_in_search(&program, object, environment);
        assert_eq!(under(&foreign, &debian), Some(ProbeFailure::OtherMachine));
        assert_eq!(under(&foreign, &plain), Some(ProbeFailure::OtherByteOrder));
        assert_eq!(under(&odd, &debian), Some(ProbeFailure::OtherByteOrder));
        assert_eq!(under(&odd, &plain), Some(ProbeFailure::OtherByteOrder));
        assert_eq!(under(&padded, &debian), Some(ProbeFailure::OtherMachine));
        assert_eq!(under(&padded, &plain), Some(ProbeFailure::NotAnObject("odd".to_owned())));
        assert_eq!(under(&program, &debian), None);
    }
}
