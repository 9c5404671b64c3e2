"""Changes zips of the sample, for tests of readers."""

import zipfile


def altered(source, target, changes):
    """Write the zip ``source`` to ``target`` with changed members, and return
    ``target``.

    ``changes`` maps the end of a member's path to a function of its bytes, or to None,
    which removes it.
    """
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            for suffix, change in changes.items():
                if name.endswith(suffix):
                    content = change(content) if change else None
            if content is not None:
                new.writestr(name, content)
    return target


def replaced(old, new):
    """Return a function that replaces the first occurrence of some bytes."""

    def change(content):
        assert old in content
        return content.replace(old, new, 1)

    return change
