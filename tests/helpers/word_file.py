"""Word files for tests, written as the parts of their package."""

import io
import zipfile

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STRICT = {
    W: "http://purl.oclc.org/ooxml/wordprocessingml/main",
    RELATIONSHIPS: "http://purl.oclc.org/ooxml/officeDocument/relationships",
}
PREFIXES = {
    "w": W,
    "r": RELATIONSHIPS,
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "o": "urn:schemas-microsoft-com:office:office",
    "v": "urn:schemas-microsoft-com:vml",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "x": "urn:example:unknown",
}
_DECLARED = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in PREFIXES.items())
_MAIN_TYPE = (
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
)


def root(name, inner):
    """A root element that declares `PREFIXES`."""
    return f"<{name} {_DECLARED}>{inner}</{name}>"


def relationships(targets):
    """A part of relationships; ``targets`` is {id: (last word of the type, target)}."""
    entries = "".join(
        f'<Relationship Id="{key}" Type="{RELATIONSHIPS}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f"<Relationships>{entries}</Relationships>"


def package(parts):
    """The bytes of a zip; ``parts`` is {name: content}, and None leaves a part out."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            if content is not None:
                archive.writestr(name, content)
    return file.getvalue()


def word(body, targets=None, styles="", main="word/document.xml", **parts):
    """The bytes of a Word file with this body.

    ``targets`` are the relationships of the main part, ``styles`` is the content of its
    styles, and ``parts`` are further parts or None, with ``__`` for a slash and without
    the suffix xml.
    """
    folder, _, name = main.rpartition("/")
    content = {
        "[Content_Types].xml": f'<Types><Override PartName="/{main}" ContentType="{_MAIN_TYPE}"/></Types>',
        "_rels/.rels": relationships({"rId1": ("officeDocument", main)}),
        main: root("w:document", f"<w:body>{body}</w:body>"),
        f"{folder}/_rels/{name}.rels": relationships(targets or {}),
        f"{folder}/styles.xml": root("w:styles", styles),
    }
    more = {f"{key.replace('__', '/')}.xml": value for key, value in parts.items()}
    return package(content | more)


def paragraph(*inner, properties=""):
    """A paragraph of these elements."""
    return f"<w:p><w:pPr>{properties}</w:pPr>{''.join(inner)}</w:p>"


def run(text, properties=""):
    """A run with this text."""
    return (
        f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'
    )
