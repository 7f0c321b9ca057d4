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
  // With fewer directories a table of their names is no gain.
  const FEW_ENDS = 8;
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
  let directories = {};
  let isIndexed = false;
  let states = [];
  try {
    const index = JSON.parse(fs.readFileSync(`${__dirname}/index.json`, 'utf8'));
    if (index.version === 1 && index.tag === tag) {
      guards = index.guards;
      directories = index.directories;
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
  // spelling of a name.
  const isSearch = (request, paths) => {
    if (typeof request !== 'string' || !Array.isArray(paths) || paths.length < 2) return false;
    if (request === '' || request[0] === '.' || request[0] === '/') return false;
    if (/[^ -~]|\/(?:\.{0,2}\/|\.{1,2}$)/.test(request)) return false;
    if (paths.some((path) => typeof path !== 'string')) return false;
    for (const extension in Module._extensions) if (extension[0] !== '.') return false;
    return true;
  };

  // The end of nearly every list is the same: the directories of NODE_PATH, and Node's own.
  let ends = [];
  let joinedEnds;
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
  const isAtEnd = (key) => {
    if (Module.globalPaths !== ends) {
      ends = Module.globalPaths;
      if (!Array.isArray(ends)) return false;
      joinedEnds = `\0${ends.join('\0')}`;
      firstEnds = new Map();
      ends.forEach((path, rank) => {
        const known = directories[path];
        if (known === undefined) return;
        for (const name of known[1].split('\n')) if (!firstEnds.has(name)) firstEnds.set(name, rank);
      });
      forget();
    }
    return ends.length >= FEW_ENDS && key.endsWith(joinedEnds);
  };

  // Adds the directories up to the first that has the name, without those before it that do not. Returns whether one has it.
  const narrow = (parts, paths, list) => {
    const [top, within, scope] = parts;
    for (const path of paths) {
      const known = directories[path];
      if (known !== undefined) {
        const [guard, names, scopes] = known;
        const below = scopes[scope];
        if (!names.includes(top)) {
          if (isFresh(guard)) continue;
        } else if (below === undefined || below[1].includes(within)) {
          list.push(path);
          return true;
        } else if (isFresh(below[0])) {
          continue;
        }
      }
      list.push(path);
    }
    return false;
  };
  const narrowEnds = (name, list) => {
    const first = firstEnds.get(name);
    const limit = first === undefined ? ends.length : first;
    for (; checkedEnds < limit; checkedEnds++) {
      const known = directories[ends[checkedEnds]];
      if (known === undefined || !isFresh(known[0])) doubtfulEnds.push(checkedEnds);
    }
    for (const rank of doubtfulEnds) {
      if (rank >= limit) break;
      list.push(ends[rank]);
    }
    if (first !== undefined) list.push(ends[first]);
    return first !== undefined;
  };

  const findNarrowed = function (request, paths) {
    if (!isSearch(request, paths)) return find.apply(this, arguments);
    const cache = Module._pathCache;
    const key = `${request}\0${paths.join('\0')}`;
    if (cache[key]) return find.apply(this, arguments);
    // Without regard to case, for file systems that do not regard it.
    const [first, second] = request.toLowerCase().split('/', 2);
    const isScoped = request[0] === '@' && second !== undefined && second !== '';
    const parts = [`\n${first}\n`, isScoped ? `\n${second}\n` : '', isScoped ? request.slice(0, first.length) : ''];
    const search = () => {
      const list = [];
      if (isScoped || !isAtEnd(key)) return [list, narrow(parts, paths, list)];
      return [list, narrow(parts, paths.slice(0, -ends.length), list) || narrowEnds(first, list)];
    };
    let [list, isThere] = search();
    if (!isThere) {
      // It may have been installed meanwhile.
      forget();
      [list, isThere] = search();
    }
    if (list.length === paths.length) return find.apply(this, arguments);
    let found = false;
    if (list.length > 0) {
      // Node remembers what it finds by request and list.
      const shorter = `${request}\0${list.join('\0')}`;
      const before = cache[shorter];
      if (before) delete cache[shorter];
      const given = Array.from(arguments);
      given[1] = list;
      try {
        found = find.apply(this, given);
      } finally {
        const now = cache[shorter];
        if (now) {
          cache[key] = now;
          delete cache[shorter];
        }
        if (before) cache[shorter] = before;
      }
    }
    return found || !isThere ? found : find.apply(this, arguments);
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
