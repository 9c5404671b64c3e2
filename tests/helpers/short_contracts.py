"""Short synthetic contracts with answers of three categories."""

import numpy as np

FILLER = "goods shall be sent to a place that each order names and paid for at once in full by cheque".split()


def contract(number, seed=0):
    """A contract with a date, two parties and a governing law among filler text, and
    their spans.
    """
    rng = np.random.default_rng([seed, number])
    filler = [f"The {' '.join(rng.permutation(FILLER)[:9])}." for _ in range(12)]
    buyer, seller = f"Buyer{number} Inc", f"Seller{number} Ltd"
    date = f"May {1 + number % 28}, 2001"
    law = f"This paper is governed by the laws of State{number % 5} alone."
    opening = f"This Agreement is made on {date} between {buyer} and {seller} who agree as follows."
    text = "\n\n".join([opening, *filler[:6], law, *filler[6:]])
    spans = [(0, date), (1, law), (2, buyer), (2, seller)]
    places = []
    for category, words in spans:
        start = text.index(words)
        places.append((category, (start, start + len(words))))
    return text, places
