"""The command `lextables`: runs of the pipeline, scores of predictions, and what can
run here.
"""

import sys
import warnings


def main() -> None:
    """Run the command; `BadInput` ends it with its sentence."""
    from lextables.cli.app import app
    from lextables.pipeline.errors import BadInput

    warnings.formatwarning = lambda message, *_: f"{message}\n"
    try:
        app()
    except BadInput as error:
        sys.exit(str(error))
