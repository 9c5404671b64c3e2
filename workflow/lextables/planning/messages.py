"""Messages about the whole run.

This module imports little: it must be ready when Ctrl-C comes, even while the other
modules are still being imported.
"""

import signal

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from lextables.pipeline.stopping import STOPPED


def announce_stop(number: int) -> None:
    """Show that a signal stopped the run: jobs that end from now on are no failures."""
    stopped = {"event": LogEvent.ERROR, "exception": "KeyboardInterrupt"}
    logger.error(STOPPED, extra=stopped)
    if number == signal.SIGTERM:
        logger.warning(
            "Stopping when the running jobs have finished; Ctrl-C ends them too."
        )


def show_last(text: str) -> None:
    """Log a message that stands on the screen below everything else."""
    logger.warning(text, extra={"last": True})
