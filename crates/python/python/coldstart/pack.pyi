from collections.abc import Sequence
from os import PathLike

from coldstart import Table

def plan(
    targets: Sequence[str | PathLike[str]],
    *,
    passes: str = "relr",
    closed_world: Sequence[str | PathLike[str]] = (),
    one_file_system: bool = False,
    undo: bool = False,
) -> Table: ...
