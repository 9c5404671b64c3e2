"""Python imports this by itself in every job, which has it on PYTHONPATH: Ctrl-C leaves no traceback.

A job imports its libraries for seconds before any code of its script runs.
"""

import sys
from types import TracebackType


def _say(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _say
