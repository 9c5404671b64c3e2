"""What every script of a rule does around its work: a log, and errors that a user can read."""

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lextables.errors import BadInput


@contextmanager
def job(log: str | Path) -> Iterator[logging.Logger]:
    """Run a rule's work with a log at ``log``.

    A `BadInput` ends the job with its sentence alone on standard error; the traceback of any error
    goes to the log.
    """
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=str(log), filemode="w", level=logging.INFO, format="%(asctime)s %(message)s", force=True
    )
    logger = logging.getLogger("lextables")
    try:
        yield logger
    except BadInput as error:
        logger.error("%s\n%s", error, traceback.format_exc())
        print(error, file=sys.stderr)
        sys.exit(1)
    except Exception:
        logger.exception("the job failed")
        raise
