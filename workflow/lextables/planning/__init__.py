"""Planning: the jobs of a command, with the inputs, params and resources of their
rules.

`Project` holds the configuration, the registries and the plans of the papers.  The
other classes take it and have the functions that rules call with their wildcards.
Of the scripts only `first_contact.py` imports this package, and its job has no output.
So a change of the package reruns nothing by itself: only new values of params do.
"""
