"""What costs Linux programs start-up time, as Arrow tables.

Every result is a table that pyarrow, pandas, polars and DuckDB read without a copy, by the Arrow C stream interface:

>>> import coldstart
>>> found = coldstart.inspect("/bin/sh")
>>> len(found.objects)
1
>>> "relocations" in found.objects.column_names
True
>>> found.objects.descriptions["bytes"]
'Size of the file in bytes.'

`resolve` follows the dynamic loader's rules; `pack.plan` says what packing would save:

>>> "/bin/sh" in repr(coldstart.resolve("/bin/sh"))
True
>>> len(coldstart.pack.plan(["/bin/sh"]))
1

Nothing that is inspected, resolved or surveyed is executed. Errors are `coldstart.Error`, whose attribute `hint` says what to do,
or is None:

>>> try:
...     coldstart.inspect("/etc/passwd")
... except coldstart.Error as error:
...     print(error.hint is not None)
True
"""

from coldstart import pack
from coldstart._coldstart import (
    Error,
    Inspection,
    Resolution,
    Table,
    TraceTables,
    __version__,
    history,
    inspect,
    read_trace,
    resolve,
    survey,
)

__all__ = [
    "Error",
    "Inspection",
    "Resolution",
    "Table",
    "TraceTables",
    "__version__",
    "history",
    "inspect",
    "pack",
    "read_trace",
    "resolve",
    "survey",
]
