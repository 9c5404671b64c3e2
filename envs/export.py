"""Write the conda environment from the pinned versions: `make` and `--sdm conda`
install the same ones.

python envs/export.py           write envs/lextables.yaml
python envs/export.py --check   exit 1 if it is out of date
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
PYTHON = "3.11"


def environment(lock: str) -> str:
    """Return the conda environment as YAML; its pip section has the pinned versions."""
    pins = [
        line.strip()
        for line in lock.splitlines()
        if line.strip() and not line.lstrip().startswith("#")
    ]
    lines = [
        "# Written by envs/export.py from envs/requirements.txt; do not edit.",
        "name: lextables",
        "channels: [conda-forge, nodefaults]",
        "dependencies:",
        f"  - python={PYTHON}",
        "  - pip",
        "  - pip:",
        *(f"      - {pin}" for pin in pins),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    written, wanted = (
        HERE / "lextables.yaml",
        environment((HERE / "requirements.txt").read_text(encoding="utf-8")),
    )
    if "--check" in sys.argv[1:]:
        sys.exit(written.read_text(encoding="utf-8") != wanted)
    written.write_text(wanted, encoding="utf-8")
