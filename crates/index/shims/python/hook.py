"""Answers Python's search for modules from an index, where the directories are as they were.

Only the choice of files comes from here: `PathFinder` keeps its place in `sys.meta_path`, specs and loaders are Python's own, and
`sys.path_importer_cache` is untouched. An absent name is believed only of a directory whose identity is as recorded; each is checked
when it is first needed, all of `sys.path` again when a name is absent everywhere (but not while `site` runs), and again after
`importlib.invalidate_caches()`.
Whatever is not known, or has changed, is left to Python, entry by entry.

Code comes from the pack only when the source is the recorded file, looked at each time.

Written for `_frozen_importlib_external` of Python 3.9 to 3.14.
"""
import marshal
import posix
import sys


def start(shim):
    external = sys.modules['_frozen_importlib_external']
    log = posix.environ.pop(b'COLDSTART_INDEX_LOG', None)
    recorder = recorder_of(log, external) if log else None
    index = read_index(shim, external)
    find = None
    if index is not None:
        find = install(index, external, shim)
    if recorder:
        record(recorder, external, find)


def read_file(path):
    descriptor = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        size = posix.fstat(descriptor).st_size
        data = posix.read(descriptor, size)
        while len(data) < size:
            piece = posix.read(descriptor, size - len(data))
            if not piece:
                raise OSError(path)
            data += piece
        return data
    finally:
        posix.close(descriptor)


def tag_of(external):
    """What an index is valid for; known before `site` is imported."""
    return (
        sys.version,
        sys.implementation.cache_tag,
        sys.prefix,
        sys.exec_prefix,
        sys.getfilesystemencoding(),
        '\t'.join(sys.modules['_imp'].extension_suffixes()),
    )


def read_index(shim, external):
    try:
        index = marshal.loads(read_file(shim + '/index.bin'))
    except (OSError, ValueError, EOFError, TypeError):
        return None
    return index if index[0] == 1 and index[1] == tag_of(external) else None


def install(index, external, shim):
    _, _, identity, maker, guards, dirs, tops, files, optimize = index
    stat = posix.stat
    finder_class = external.PathFinder
    original = finder_class._get_spec.__func__
    invalidate = finder_class.invalidate_caches
    loaders = (external.ExtensionFileLoader, external.SourceFileLoader, external.SourcelessFileLoader)
    spec_from = external.spec_from_file_location
    new_spec = external._bootstrap.ModuleSpec
    # 0 not checked, 1 as recorded, 2 changed.
    states = bytearray(len(guards))
    others = maker != posix.geteuid()
    # Of the present sys.path: a copy, the rank of each entry, and the entries that Python must be asked about.
    surveyed = []
    # What Python looks into directories with. A program may have its own for any path.
    hooks = list(sys.path_hooks)
    own_finders = sys.path_importer_cache
    usual = (type(None), external.FileFinder)
    ranks = {}
    odd = []

    def check(number):
        path, device, inode, mtime, ctime = guards[number]
        try:
            found = stat(path)
        except OSError as error:
            return inode < 0 and error.errno == 2
        return (
            found.st_ino == inode
            and found.st_mtime_ns == mtime
            and found.st_ctime_ns == ctime
            and (device < 0 or found.st_dev == device)
            # Python lists the directory, which another user may not be permitted to.
            and (not others or posix.access(path, 5))
        )

    def is_fresh(number):
        state = states[number]
        if not state:
            state = states[number] = 1 if check(number) else 2
        return state == 1

    def survey():
        surveyed[:] = sys.path
        ranks.clear()
        odd.clear()
        for rank, entry in enumerate(surveyed):
            if entry not in ranks:
                ranks[entry] = rank
                known = dirs.get(entry)
                if known is None or not is_fresh(known[0]) or type(own_finders.get(entry)) not in usual:
                    odd.append(entry)

    def has_changed(path):
        """Looks at the directories of `path` once more."""
        changed = False
        seen = set()
        for entry in path:
            known = dirs.get(entry)
            if known is not None and known[0] not in seen and states[known[0]] == 1:
                seen.add(known[0])
                if guards[known[0]][2] >= 0 and not check(known[0]):
                    states[known[0]] = 2
                    changed = True
        if changed:
            surveyed.clear()
        return changed

    def entries_for(fullname, tail, path):
        """The entries of `path` that have the name or may have it, in order."""
        if path is sys.path:
            if path != surveyed:
                survey()
            having = tops.get(fullname)
            if having is not None:
                chosen = [entry for entry in having if entry in ranks]
                if odd:
                    chosen = list({*odd, *chosen})
                if len(chosen) > 1:
                    chosen.sort(key=ranks.__getitem__)
                return chosen
        needle = None
        chosen = []
        for entry in path:
            known = dirs.get(entry)
            if known is not None and is_fresh(known[0]) and tail not in known[1]:
                if needle is None:
                    needle = b'\n' + tail.encode('utf-8', 'surrogateescape') + b'\n'
                if needle not in known[2]:
                    continue
            chosen.append(entry)
        return chosen

    def direct(fullname, tail, entry):
        """The spec of a name that the index has, the directory of a namespace, or None: ask Python."""
        known = dirs.get(entry)
        if known is None or not is_fresh(known[0]) or type(own_finders.get(entry)) not in usual:
            return None
        found = known[1].get(tail)
        if found is None:
            return None
        kind, name, is_package, is_link = found
        base = entry.rstrip('/') + '/'
        if kind < 0:
            return base + tail
        locations = None
        if is_package:
            below = dirs.get(base + tail)
            if below is None or not is_fresh(below[0]):
                return None
            locations = [base + tail]
        path = base + name
        if is_link:
            try:
                if stat(path).st_mode & 0o170000 != 0o100000:
                    return None
            except OSError:
                return None
        return spec_from(fullname, path, loader=loaders[kind](fullname, path), submodule_search_locations=locations)

    def search(cls, fullname, path, target):
        tail = fullname.rpartition('.')[2]
        portions = []
        for entry in entries_for(fullname, tail, path):
            found = direct(fullname, tail, entry)
            if type(found) is str:
                portions.append(found)
                continue
            if found is not None:
                return found
            if not isinstance(entry, str):
                continue
            finder = cls._path_importer_cache(entry)
            if finder is None:
                continue
            found = finder.find_spec(fullname, target)
            if found is None:
                continue
            if found.loader is not None:
                return found
            more = found.submodule_search_locations
            if more is None:
                raise ImportError('spec missing loader')
            portions.extend(more)
        # While `site` runs, the first look has just been.
        if not in_site() and has_changed(path):
            return original(cls, fullname, path, target)
        spec = new_spec(fullname, None)
        spec.submodule_search_locations = portions
        return spec

    def in_site():
        site = sys.modules.get('site')
        return site is not None and getattr(site.__spec__, '_initializing', False)

    def _get_spec(cls, fullname, path, target=None):
        if sys.path_hooks != hooks:
            return original(cls, fullname, path, target)
        try:
            return search(cls, fullname, path, target)
        except (TypeError, AttributeError, KeyError, UnicodeError, RecursionError):
            # A path entry, finder or name of a strange type: Python says what it says.
            return original(cls, fullname, path, target)

    def invalidate_caches():
        for number in range(len(states)):
            states[number] = 0
        surveyed.clear()
        return invalidate()

    finder_class._get_spec = classmethod(_get_spec)
    finder_class.invalidate_caches = staticmethod(invalidate_caches)
    if files and optimize == sys.flags.optimize:
        install_pack(external, files, identity, shim, others)
    return _get_spec


def install_pack(external, files, identity, shim, others):
    loader_class = external.SourceFileLoader
    original = loader_class.get_code
    stat = posix.stat
    loads = marshal.loads
    fix = sys.modules['_imp']._fix_co_filename
    pack = []

    def open_pack():
        try:
            data = read_file(shim + '/pack.bin')
        except OSError:
            data = b''
        if not data.startswith(identity):
            files.clear()
        pack.append(memoryview(data))

    def get_code(self, fullname):
        # A subclass may compile in its own way. A reload gets what is there then.
        known = files.pop(self.path, None) if type(self) is loader_class else None
        if known is None:
            return original(self, fullname)
        device, inode, mtime, ctime, size, offset, length = known
        try:
            found = stat(self.path)
        except OSError:
            return original(self, fullname)
        if (
            found.st_ino != inode
            or found.st_mtime_ns != mtime
            or found.st_ctime_ns != ctime
            or found.st_size != size
            or (device >= 0 and found.st_dev != device)
            or (others and not posix.access(self.path, 4))
        ):
            return original(self, fullname)
        if not pack:
            open_pack()
        piece = pack[0][offset:offset + length]
        if len(piece) != length:
            return original(self, fullname)
        try:
            code = loads(piece)
            fix(code, self.path)
        except (ValueError, EOFError, TypeError):
            return original(self, fullname)
        return code

    loader_class.get_code = get_code


def executable():
    """The interpreter's file. Python looks for one of its name in PATH if it was started by a name alone, and may find another: a script
    that selects a version. Where Python is part of another program, that one is no interpreter."""
    named = sys.executable or ''
    try:
        own = posix.readlink('/proc/self/exe')
    except OSError:
        return named
    if not own.rpartition('/')[2].startswith('python'):
        return named
    try:
        one, other = posix.stat(own), posix.stat(named)
    except OSError:
        return own
    return named if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino) else own


def recorder_of(log, external):
    process = posix.getpid

    def write(kind, *fields):
        fields = [field.replace('\\', '\\\\').replace('\t', '\\t').replace('\n', '\\n') for field in (kind, str(process()), *fields)]
        line = '\t'.join(fields)
        data = ('%s\n' % line).encode('utf-8', 'surrogateescape')
        try:
            descriptor = posix.open(log, posix.O_WRONLY | posix.O_APPEND | posix.O_CLOEXEC)
        except OSError:
            return
        try:
            posix.write(descriptor, data)
        except OSError:
            pass
        finally:
            posix.close(descriptor)

    # Children record, too, but the program does not see the variable.
    write('P', executable(), str(sys.flags.optimize), *tag_of(external))
    return write


def record(write, external, find):
    finder_class = external.PathFinder
    find = find or finder_class._get_spec.__func__
    entries = []

    def _get_spec(cls, fullname, path, target=None):
        if path is sys.path and path != entries:
            entries[:] = path
            write('S', *[entry for entry in path if isinstance(entry, str)])
        spec = find(cls, fullname, path, target)
        try:
            if spec is None or (spec.loader is None and not spec.submodule_search_locations):
                write('M', fullname)
            else:
                loader = type(spec.loader).__name__ if spec.loader is not None else ''
                locations = list(spec.submodule_search_locations or ())
                around = [] if path is sys.path else [entry for entry in path if isinstance(entry, str)]
                write('F', fullname, loader, str(spec.origin or ''), str(len(locations)), *(locations + around))
        except Exception:
            pass
        return spec

    finder_class._get_spec = classmethod(_get_spec)
