// Written by coldstart: takes those directories out of Node's search for a module that cannot have it, if they are as they were.
//
// Node opens and resolves everything itself; only its list of directories is shorter. What is not found in the shorter list is searched
// as without an index. Only what all versions of Node understand is used before the version is known.
'use strict';
{
  const fs = require('fs');
  const Module = require('module');
  const tag = `${process.version} ${process.execPath}`;
  const log = process.env.COLDSTART_INDEX_LOG_NODE;
  const stat = fs.statSync;
  const find = Module._findPath;
  // With fewer directories neither a table of their names is a gain, nor asking for them again before a name counts as missing.
  const FEW = 16;
  delete Module._cache[__filename];

  // Another Node, and its children, see the variable as it was.
  const restore = () => {
    const given = process.env.NODE_OPTIONS || '';
    const option = /--require (?:"((?:[^"\\]|\\.)*)"|([^ "]+))(?: |$)/g;
    for (let match; (match = option.exec(given)) !== null;) {
      const path = match[1] === undefined ? match[2] : match[1].replace(/\\(.)/g, '$1');
      let real;
      try { real = fs.realpathSync(path); } catch (error) { continue; }
      if (real === __filename) {
        const rest = given.slice(0, match.index) + given.slice(option.lastIndex);
        if (rest === '') delete process.env.NODE_OPTIONS; else process.env.NODE_OPTIONS = rest;
        return;
      }
    }
  };

  let guards = [];
  // Not an object: it would enter each name that is looked up into V8's table of names, which takes longer than Node's own search.
  let directories = new Map();
  let isIndexed = false;
  let states = [];
  try {
    const index = JSON.parse(fs.readFileSync(`${__dirname}/index.json`, 'utf8'));
    if (index.version === 1 && index.tag === tag) {
      guards = index.guards;
      directories = new Map(Object.entries(index.directories));
      isIndexed = true;
    }
  } catch (error) {
    // Missing or damaged: as without an index.
  }

  const isAsItWas = (number) => {
    const [path, device, rest] = guards[number];
    let found;
    try { found = stat(path, { bigint: true, throwIfNoEntry: false }); } catch (error) { return false; }
    if (found === undefined) return rest === '';
    return rest === `${found.ino} ${found.mtimeNs} ${found.ctimeNs}` && (device === '' || device === `${found.dev}`);
  };
  const isFresh = (number) => {
    if (states[number] === undefined) states[number] = isAsItWas(number);
    return states[number];
  };

  // Whether Node may search a name in one directory or more of a list by what a directory has: not by a path through `..`, or another
  // spelling of a name. Without expressions, whose compilation takes longer than all this.
  const isSearch = (request, paths) => {
    if (typeof request !== 'string' || !Array.isArray(paths) || paths.length < 2) return false;
    if (request === '' || request[0] === '.' || request[0] === '/') return false;
    for (let at = 0; at < request.length; at++) {
      const code = request.charCodeAt(at);
      if (code < 32 || code > 126) return false;
    }
    if (request.includes('//') || request.includes('/.')) return false;
    for (const extension in Module._extensions) if (extension[0] !== '.') return false;
    return true;
  };

  // The end of nearly every list is the same: the directories of NODE_PATH, and Node's own.
  let endsGiven;
  let ends = [];
  // For each beginning of a name, the first of them that has it.
  let firstEnds = new Map();
  // How many of them have been checked, and which of these are unknown or have changed.
  let checkedEnds = 0;
  let doubtfulEnds = [];
  const forget = () => {
    states = [];
    checkedEnds = 0;
    doubtfulEnds = [];
  };
  const areAtEnd = (paths) => {
    if (Module.globalPaths !== endsGiven) {
      endsGiven = Module.globalPaths;
      ends = Array.isArray(endsGiven) ? endsGiven.slice() : [];
      firstEnds = new Map();
      ends.forEach((path, rank) => {
        const known = directories.get(path);
        if (known === undefined) return;
        for (const name of known[1].split('\n')) if (!firstEnds.has(name)) firstEnds.set(name, rank);
      });
      forget();
    }
    const before = paths.length - ends.length;
    if (ends.length < FEW || before < 0) return false;
    for (let rank = 0; rank < ends.length; rank++) if (ends[rank] !== paths[before + rank]) return false;
    return true;
  };

  // The directories that are left of a list, whether one of them has the name, and whether any was taken out before that one.
  let list;
  let isThere;
  let isShorter;
  // Adds the first directories of a list up to the one that has the name, without those before it that do not. False: not all are names.
  const narrow = (parts, paths, count) => {
    const [top, within, scope] = parts;
    for (let at = 0; at < count && !isThere; at++) {
      const path = paths[at];
      if (typeof path !== 'string') return false;
      const known = directories.get(path);
      let guard = -1;
      if (known !== undefined) {
        const below = known[2][scope];
        if (!known[1].includes(top)) guard = known[0];
        else if (below !== undefined && !below[1].includes(within)) guard = below[0];
        else isThere = true;
      }
      if (guard >= 0 && isFresh(guard)) isShorter = true; else list.push(path);
    }
    return true;
  };
  const narrowEnds = (name) => {
    const first = firstEnds.get(name);
    const limit = first === undefined ? ends.length : first;
    for (; checkedEnds < limit; checkedEnds++) {
      const known = directories.get(ends[checkedEnds]);
      if (known === undefined || !isFresh(known[0])) doubtfulEnds.push(checkedEnds);
    }
    let doubtful = 0;
    for (; doubtful < doubtfulEnds.length && doubtfulEnds[doubtful] < limit; doubtful++) list.push(ends[doubtfulEnds[doubtful]]);
    if (doubtful < limit) isShorter = true;
    if (first === undefined) return;
    list.push(ends[first]);
    isThere = true;
  };
  const search = (request, paths) => {
    // Without regard to case, for file systems that do not regard it.
    const [first, second] = request.toLowerCase().split('/', 2);
    const isScoped = request[0] === '@' && second !== undefined && second !== '';
    const parts = [`\n${first}\n`, isScoped ? `\n${second}\n` : '', isScoped ? request.slice(0, first.length) : ''];
    list = [];
    isThere = isShorter = false;
    const hasEnds = !isScoped && areAtEnd(paths);
    if (!narrow(parts, paths, hasEnds ? paths.length - ends.length : paths.length)) isShorter = false;
    else if (hasEnds && !isThere) narrowEnds(first);
  };

  // What was found with which lists, by request: Node does not search for it again, whatever has changed.
  const found = new Map();
  const findNarrowed = function (request, paths) {
    if (!isSearch(request, paths)) return find.apply(this, arguments);
    const isSame = (one, other) => one.length === other.length && one.every((path, at) => path === other[at]);
    const earlier = found.get(request) || [];
    const again = earlier.find(([given]) => isSame(given, paths));
    if (again !== undefined) {
      list = again[1];
      isThere = isShorter = true;
    } else {
      search(request, paths);
      if (!isThere && isShorter && paths.length >= FEW) {
        // It may have been installed meanwhile.
        forget();
        search(request, paths);
      } else if (!isThere) {
        // Node asks no more than we would.
        isShorter = false;
      }
    }
    if (!isShorter) return find.apply(this, arguments);
    const isKnown = isThere;
    if (list.length === 0) return false;
    const given = Array.from(arguments);
    given[1] = list;
    // Node remembers what it finds by request and list. What another search has found with this list may be there no more.
    const isRemembered = Module._pathCache[`${request}\0${list.join('\0')}`] !== undefined;
    if (isRemembered !== (again !== undefined)) return find.apply(this, arguments);
    const file = find.apply(this, given);
    if (!file) return isKnown ? find.apply(this, arguments) : false;
    if (again === undefined) found.set(request, [...earlier, [paths, list]]);
    return file;
  };

  const recorded = (search) => {
    const file = fs.openSync(log, 'a');
    const escaped = (text) => text.replace(/\\/g, '\\\\').replace(/\t/g, '\\t').replace(/\n/g, '\\n');
    const write = (kind, ...fields) => {
      fs.writeSync(file, `${[kind, process.pid, ...fields.map((field) => escaped(`${field}`))].join('\t')}\n`);
    };
    const written = new Set();
    write('P', process.execPath, tag, process.version);
    return function (request, paths) {
      const list = Array.isArray(paths) ? paths : [];
      if (isSearch(request, paths) && !written.has(list.join('\0'))) {
        written.add(list.join('\0'));
        write('S', ...list);
      }
      let found = false;
      try {
        return found = search.apply(this, arguments);
      } finally {
        if (found) write('F', request, list.length > 0 ? list[0] : '', found); else write('M', request);
      }
    };
  };

  if (!isIndexed && log === undefined) {
    restore();
  } else if (process.env.WATCH_REPORT_DEPENDENCIES === undefined) {
    // Under `--watch` Node tells its parent where a module may appear.
    const search = isIndexed ? findNarrowed : find;
    const outer = log === undefined ? search : recorded(search);
    Module._findPath = function (request, paths, isMain) { return outer.apply(this, arguments); };
  }
}
