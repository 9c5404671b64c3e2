"""The packages of the wheel; `lextables.project` has the project's other files as data.

Everything else about the wheel is in pyproject.toml.
"""

from setuptools import find_packages, setup

setup(packages=[*find_packages("workflow"), "lextables.project"])
