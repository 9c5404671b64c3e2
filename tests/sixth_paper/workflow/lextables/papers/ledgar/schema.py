"""Its data set is an ordinary one."""

from lextables.tasks.classification.schema import EXAMPLES, HEADS, TEXTS

TABLES = {"ledgar": (EXAMPLES, HEADS, TEXTS)}
