"""Makes the archives of the benchmark in the working directory.

app.jar: 300 classes with 160 kB of data behind each, 50 MB; the start loads every third one, in no order.
app.pyz: 4,000 modules of 3.5 kB, 14 MB; the start imports every twentieth one, in no order.
AppDir: Debian's Python with its library; the start imports modules of all kinds.
"""

import os
import random
import shutil
import subprocess
import sys
import sysconfig
import zipfile

random.seed(11)


def jar():
    used = random.sample(range(0, 300, 3), 100)
    calls = " + ".join(f"C{n}.x()" for n in used)
    main = f"public class Main {{ public static void main(String[] a) {{ System.out.println({calls}); }} }}\n"
    main += "".join(f"class C{n} {{ static int x() {{ return {n}; }} }}\n" for n in range(300))
    with open("Main.java", "w") as out:
        out.write(main)
    subprocess.run(["javac", "-d", "classes", "Main.java"], check=True)
    with zipfile.ZipFile("app.jar", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nMain-Class: Main\n\n")
        archive.write("classes/Main.class", "Main.class")
        for n in range(300):
            archive.write(f"classes/C{n}.class", f"C{n}.class")
            archive.writestr(f"data/{n}", random.randbytes(160_000), zipfile.ZIP_STORED)
    os.remove("Main.java")
    shutil.rmtree("classes")


def zipapp():
    used = random.sample(range(0, 4000, 20), 200)
    with zipfile.ZipFile("app.pyz", "w", zipfile.ZIP_DEFLATED) as archive:
        for n in range(4000):
            filler = "".join(random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=5000))
            archive.writestr(f"m{n}.py", f"x = {n}\n# {filler}\n")
        imports = "".join(f"import m{n}\n" for n in used)
        archive.writestr("__main__.py", imports + "print(len(dir()))\n")


def app_dir():
    library = sysconfig.get_path("stdlib")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    os.makedirs("AppDir/usr/bin")
    shutil.copy(os.path.realpath(sys.executable), f"AppDir/usr/bin/{version}")
    left_out = shutil.ignore_patterns("dist-packages", "site-packages", "test", "__pycache__", "config-*")
    shutil.copytree(library, f"AppDir/usr/lib/{version}", symlinks=False, ignore=left_out, ignore_dangling_symlinks=True)
    modules = "json, http.client, email.message, asyncio, sqlite3, xml.etree.ElementTree, unittest, logging.config"
    with open("AppDir/AppRun", "w") as out:
        out.write(
            '#!/bin/sh\nroot=$(dirname "$0")\n'
            f'PYTHONHOME="$root/usr" PYTHONDONTWRITEBYTECODE=1 exec "$root/usr/bin/{version}" -I -c "import {modules}"\n'
        )
    os.chmod("AppDir/AppRun", 0o755)
    subprocess.run([sys.executable, "-m", "compileall", "-q", f"AppDir/usr/lib/{version}"], check=False)


jar()
zipapp()
app_dir()
