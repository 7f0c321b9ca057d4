"""Run by the recorded interpreter: reads names of modules and their sources, writes their code as one file, and the code of the hook.

Arguments: the list of modules, the pack, the hook's source, the compiled hook, our `encodings`. Prints a line for each module in the pack: its number in the
list, offset and length. A module whose cached code is not tied to its source's time is left out.
"""
import importlib.machinery
import importlib.util
import marshal
import os
import py_compile
import re
import sys

sys.dont_write_bytecode = True
listed, pack, hook, compiled = [os.fsencode(argument) for argument in sys.argv[1:5]]
encodings = sys.argv[5]


def plain(text):
    return re.sub(r'\\(.)', lambda found: {'n': '\n', 't': '\t'}.get(found.group(1), found.group(1)), text)


def is_tied(path):
    try:
        with open(importlib.util.cache_from_source(path), 'rb') as cached:
            return cached.read(8)[4:] == bytes(4)
    except (OSError, NotImplementedError):
        return True


with open(hook, 'rb') as source:
    code = compile(source.read(), '<coldstart index>', 'exec', dont_inherit=True, optimize=2)
with open(compiled, 'wb') as out:
    out.write(sys.version.encode('utf-8') + b'\0' + marshal.dumps(code))

# Valid wherever it is copied, so that Python need not compile it at each start.
py_compile.compile(encodings, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)

with open(listed, 'rb') as lines:
    modules = [line.split('\t') for line in lines.read().decode('utf-8', 'surrogateescape').split('\n') if line]
identity, modules = modules[0][0].encode(), modules[1:]
offset = len(identity)
with open(pack, 'wb') as out:
    out.write(identity)
    for number, (name, path) in enumerate(modules):
        name, path = plain(name), plain(path)
        try:
            if not is_tied(path):
                continue
            data = marshal.dumps(importlib.machinery.SourceFileLoader(name, path).get_code(name))
        except Exception:
            continue
        out.write(data)
        print(number, offset, len(data))
        offset += len(data)
