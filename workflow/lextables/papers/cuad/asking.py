"""What a review is asked: a user's contract, and the question of each category.

The workflow imports this whenever it plans, so it loads nothing that counts or draws.
"""

import hashlib
from pathlib import Path

CONTRACT = "contract"  # its id
LINEAR = "linear"  # the kind of a linear model's settings, and the condition of its run


def question_id(category: str) -> str:
    """The id of a category's question about the contract."""
    return f"{CONTRACT}__{category}"


def name_of(path: str) -> str:
    """Return what a contract's review is called: the file's name and eight digits of what is in it.

    A contract that cannot be read gets no digits; whoever asks for its review is told why.
    """
    contract = Path(path)
    try:
        return f"{contract.name}-{hashlib.sha256(contract.read_bytes()).hexdigest()[:8]}"
    except OSError:
        return contract.name or "contract"
