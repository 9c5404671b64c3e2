"""Python imports this by itself in every job, which has it on PYTHONPATH.

A job imports its libraries for seconds before any code of its script runs.  Ctrl-C then leaves no traceback,
and garbage, of which imports make none, is hardly looked for until `lextables.job` sets the pace.  What is
there at a job's end goes with its process: to look through all that transformers has loaded takes a second.
"""

import atexit
import gc
import sys
from types import TracebackType


def _say(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _say
gc.set_threshold(1_000_000)
atexit.register(gc.freeze)
