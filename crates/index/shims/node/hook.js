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
    for (const extension in Module._extensions) if (extension[0] !== '.') return false;
    return true;
  };

  // The directories up to the first that has the name, without those before it that do not. `isCertain`: none has it.
  const narrow = (request, paths) => {
    // Without regard to case, for file systems that do not regard it.
    const parts = request.toLowerCase().split('/', 2);
    const top = `\n${parts[0]}\n`;
    const isScoped = request[0] === '@' && parts.length > 1 && parts[1] !== '';
    const within = isScoped ? `\n${parts[1]}\n` : '';
    const scope = isScoped ? request.slice(0, parts[0].length) : '';
    const list = [];
    for (const path of paths) {
      if (typeof path !== 'string') return undefined;
      const known = directories[path];
      if (known !== undefined) {
        const [guard, names, scopes] = known;
        if (!names.includes(top)) {
          if (isFresh(guard)) continue;
        } else if (isScoped && scopes[scope] !== undefined) {
          const [below, own] = scopes[scope];
          if (!own.includes(within)) {
            if (isFresh(below)) continue;
          } else {
            list.push(path);
            return { list, isCertain: false };
          }
        } else {
          list.push(path);
          return { list, isCertain: false };
        }
      }
      list.push(path);
    }
    return { list, isCertain: true };
  };

  const findNarrowed = function (request, paths) {
    if (!isSearch(request, paths)) return find.apply(this, arguments);
    let { list, isCertain } = narrow(request, paths) || { list: paths };
    // A module that is missing may have been installed meanwhile.
    if (isCertain) {
      states = [];
      ({ list, isCertain } = narrow(request, paths));
    }
    const cache = Module._pathCache;
    const key = `${request}\0${paths.join('\0')}`;
    if (list.length === paths.length || cache[key]) return find.apply(this, arguments);
    let found = false;
    if (list.length > 0) {
      // Node remembers what it finds by request and list.
      const shorter = `${request}\0${list.join('\0')}`;
      const before = cache[shorter];
      delete cache[shorter];
      const given = Array.from(arguments);
      given[1] = list;
      try {
        found = find.apply(this, given);
      } finally {
        if (cache[shorter]) cache[key] = cache[shorter];
        if (before) cache[shorter] = before; else delete cache[shorter];
      }
    }
    return found || isCertain ? found : find.apply(this, arguments);
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
