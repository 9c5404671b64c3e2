"""The one kind of error that a user is meant to read."""


class BadInput(Exception):
    """Input that cannot be used, said in one sentence: what is wrong, where, and what to do.

    ``where`` is a file, optionally with a row (1-based, as an editor counts lines) or a key, such as
    ``qrels/test.tsv, row 17``.  Raised before anything is built from the input.
    """

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        self.what, self.where, self.do = what, where, do
        sentence = f"{where}: {what}" if where else what
        super().__init__(f"{sentence}; {do}." if do else f"{sentence}.")


class NotNow(BadInput):
    """Input that may be there in a minute, such as an address that does not answer: worth another try."""
