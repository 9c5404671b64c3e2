"""A span as the released code writes it down."""


def collapsed(text: str) -> str:
    """Return ``text`` with a single blank wherever white space parts two words, as the release joins them."""
    return _PARTING.sub(" ", text)
