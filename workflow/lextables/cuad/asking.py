"""What a review asks of a user's contract: the question of each category."""

CONTRACT = "contract"  # its id


def question_id(category: str) -> str:
    """The id of a category's question about the contract."""
    return f"{CONTRACT}__{category}"
