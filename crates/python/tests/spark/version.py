"""Workers with another version of the package are refused."""

import pathlib
import shutil

import coldstart
import coldstart.spark
from cluster import HERE, OUT, TREE, session

other = pathlib.Path(HERE, "other")
shutil.copytree(pathlib.Path(coldstart.__file__).parent, other / "coldstart")
with open(other / "coldstart/__init__.py", "a") as package:
    package.write('\n__version__ = "0.0.9"\n')
spark = session(str(other))
try:
    coldstart.spark.survey(spark, [TREE], OUT, tasks=2)
    raise SystemExit("no error")
except coldstart.Error as error:
    assert f"this worker has coldstart 0.0.9, and the driver has {coldstart.__version__}" in str(error), error
    assert error.hint == "install the same version on all machines", error.hint
assert not pathlib.Path(OUT).exists()
files = spark.read.format("binaryFile").load("/bin/sh")
try:
    coldstart.spark.inspect(files).collect()
    raise SystemExit("no error")
except Exception as error:
    assert "this worker has coldstart 0.0.9" in str(error), error
spark.stop()
print("checked")
