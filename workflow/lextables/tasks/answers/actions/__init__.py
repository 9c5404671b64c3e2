"""The actions of the task, one module each, with a function ``run``."""
