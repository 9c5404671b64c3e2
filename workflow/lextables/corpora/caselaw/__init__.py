"""Court opinions from the Caselaw Access Project: static.case.law volumes and the
former bulk export.
"""
