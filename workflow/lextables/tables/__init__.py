"""Tables: what was published next to what was reproduced, with a verdict a cell."""
