"""A tree of files of which random parts are in memory, and a list of which: by mincore(2), without any code of coldstart.

    page_cache_tree.py build FOLDER FILES MEGABYTES   makes the files
    page_cache_tree.py fill FOLDER SEED               evicts them and reads about half of their pages, in random runs
    page_cache_tree.py list FOLDER FILE               writes each file's pages to FILE
    page_cache_tree.py compare BEFORE SAVED AFTER     prints what the lists have in common, as JSON

BEFORE and SAVED are lists from right before and right after saving. A page in which they differ came or went by itself at
that very moment, so that nobody can say what should be there again; it is counted as unsettled and not judged.
"""

import ctypes
import json
import mmap
import os
import random
import sys

PAGE = 4096
PER_FOLDER = 100


def path_of(folder, number):
    return os.path.join(folder, f"{number // PER_FOLDER:04}", f"{number:06}")


def files_of(folder):
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            yield os.path.join(place, name)


def build(folder, files, megabytes):
    chance = random.Random(1)
    mean = megabytes * 1_000_000 // files
    content = chance.randbytes(3 * mean)
    for number in range(files):
        path = path_of(folder, number)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content[: chance.randrange(mean // 5, 2 * mean - mean // 5)])
    os.sync()


def fill(folder, seed):
    chance = random.Random(seed)
    for path in files_of(folder):
        file = os.open(path, os.O_RDONLY)
        pages = -(-os.fstat(file).st_size // PAGE)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
        page = 0
        while page < pages:
            run = chance.randrange(1, 16)
            if chance.random() < 0.5:
                os.pread(file, run * PAGE, page * PAGE)
            page += run
        os.close(file)


def write_list(folder, target):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    lists = {}
    for path in files_of(folder):
        file = os.open(path, os.O_RDONLY)
        size = os.fstat(file).st_size
        pages = -(-size // PAGE)
        place = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
        answer = ctypes.create_string_buffer(pages)
        if libc.mincore(place, size, answer) != 0:
            raise OSError(ctypes.get_errno(), "mincore", path)
        libc.munmap(place, size)
        os.close(file)
        lists[path] = "".join(str(page & 1) for page in answer.raw[:pages])
    with open(target, "w") as out:
        json.dump(lists, out)


def compare(*names):
    before, saved, after = (json.load(open(name)) for name in names)
    pages = [page for path in before for page in zip(before[path], saved[path], after[path])]
    settled = [(one, other) for one, two, other in pages if one == two]
    result = {
        "files": len(before),
        "before": sum(one == "1" for one, _ in settled),
        "back": sum(pair == ("1", "1") for pair in settled),
        "extra": sum(pair == ("0", "1") for pair in settled),
        "unsettled": len(pages) - len(settled),
    }
    print(json.dumps(result))


verb, *words = sys.argv[1:]
if verb == "build":
    build(words[0], int(words[1]), int(words[2]))
elif verb == "fill":
    fill(words[0], int(words[1]))
elif verb == "list":
    write_list(words[0], words[1])
elif verb == "compare":
    compare(*words)
else:
    sys.exit(__doc__)
