"""What costs Linux programs start-up time, as Arrow tables.

Every result is a table that pyarrow, pandas, polars and DuckDB read without a copy, by the Arrow C stream interface:

>>> import coldstart
>>> found = coldstart.inspect("/bin/sh")
>>> len(found.objects)
1
>>> "relocations" in found.objects.column_names
True

Nothing that is inspected or resolved is executed. Errors are `coldstart.Error`, whose attribute `hint` says what to do, or is None.
"""

from coldstart._coldstart import Error, Inspection, Resolution, Table, __version__, inspect, resolve, survey

__all__ = ["Error", "Inspection", "Resolution", "Table", "__version__", "inspect", "resolve", "survey"]
