# Written by coldstart. `encodings` is the first module that Python imports from sys.path, before `site` and its `.pth` files. This one
# starts the index of the interpreter that it was made for, and then leaves its place to Python's own. Any other interpreter, also Python 2,
# goes on as if this directory were not in PYTHONPATH.
import sys


def _start():
    import posix
    shim = __path__[0].rpartition('/')[0]
    while shim in sys.path:
        sys.path.remove(shim)
    for path in (shim, __path__[0]):
        sys.path_importer_cache.pop(path, None)
    del sys.modules['encodings']
    hook = None
    try:
        if sys.implementation.name == 'cpython':
            hook = _hook(posix, shim)
    except Exception:
        pass
    # PYTHONPATH as it was given, for the program. Its children inherit the whole, unless they get another environment.
    name = b'PYTHONPATH' if str is not bytes else 'PYTHONPATH'
    colon = name[:0].join([b':' if str is not bytes else ':'])
    own = shim if str is bytes else shim.encode('utf-8', 'surrogateescape')
    left = [entry for entry in posix.environ.get(name, own).split(colon) if entry != own]
    if left:
        posix.environ[name] = colon.join(left)
    else:
        posix.environ.pop(name, None)
    if hook is None:
        # The environment that children inherit: not the dictionary, but the C library's.
        if left:
            posix.putenv(name, colon.join(left))
        elif hasattr(posix, 'unsetenv'):
            posix.unsetenv(name)
        return
    try:
        hook(shim)
    except Exception:
        pass


def _hook(posix, shim):
    names = {'__name__': 'coldstart_index'}
    try:
        data = _read(posix, shim + '/hook.bin')
    except OSError:
        # Not compiled yet: a start is being recorded.
        exec(compile(_read(posix, shim + '/hook.py'), '<coldstart index>', 'exec', dont_inherit=True), names)
        return names['start']
    version = sys.version.encode('utf-8') + b'\0'
    if not data.startswith(version):
        return None
    import marshal
    exec(marshal.loads(data[len(version):]), names)
    return names['start']


def _read(posix, path):
    data = b''
    descriptor = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        while True:
            piece = posix.read(descriptor, 1 << 20)
            if not piece:
                return data
            data += piece
    finally:
        posix.close(descriptor)


_start()
del _start, _hook, _read
import encodings  # noqa: E402 - now Python's own, which stands in sys.modules from here on
