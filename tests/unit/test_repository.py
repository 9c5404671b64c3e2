"""Other files of the repository agree with the code: licences, pinned versions, scripts
and links.
"""

import ast
import importlib
import importlib.util
import re
import tomllib

import yaml

from lextables import ROOT
from lextables.pipeline.config import Config


def loaded(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_every_name_that_a_script_imports_from_the_package_exists():
    imports = []
    for path in [*ROOT.glob("workflow/scripts/*.py"), *ROOT.glob("bench/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "lextables"
            ):
                imports += [
                    (path.name, node.module, alias.name) for alias in node.names
                ]
    assert imports
    missing = []
    for script, module, name in imports:
        is_name = hasattr(importlib.import_module(module), name)
        if not is_name and importlib.util.find_spec(f"{module}.{name}") is None:
            missing.append((script, module, name))
    assert missing == []


def test_the_documentation_gives_the_licence_of_every_source_and_model():
    page = (ROOT / "docs/licences.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+`) \| (.+) \|$", page, re.M)
    listed = {
        name: licence
        for names, licence in rows
        for name in re.findall(r"`([^`]+)`", names)
    }
    registered = loaded("resources/sources.yaml") | loaded("resources/models.yaml")
    for path in (ROOT / "resources/papers").glob("*.yaml"):
        registered |= loaded(path).get("sources", {})
    assert listed == {name: entry["licence"] for name, entry in registered.items()}


def test_pre_commit_hooks_use_the_pinned_versions():
    hooks = [
        hook
        for repo in loaded(".pre-commit-config.yaml")["repos"]
        if repo["repo"] == "local"
        for hook in repo["hooks"]
    ]
    pins = (ROOT / "envs/requirements-dev.txt").read_text(encoding="utf-8").splitlines()
    assert {hook["entry"].split()[0] for hook in hooks} == {"ruff", "snakefmt", "typos"}
    for hook in hooks:
        (pin,) = hook["additional_dependencies"]
        assert pin in pins
        assert pin.startswith(f"{hook['entry'].split()[0]}==")


def test_every_supported_python_is_tested_and_listed():
    matrix = loaded(".github/workflows/test.yaml")["jobs"]["quick"]["strategy"][
        "matrix"
    ]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert project["requires-python"] == ">=3.11,<3.14"
    listed = [
        line.split(" :: ")[-1]
        for line in project["classifiers"]
        if ":: Python ::" in line
    ]
    assert matrix == listed == ["3.11", "3.12", "3.13"]
    assert "(3, 11) <= sys.version_info[:2] <= (3, 13)" in (
        ROOT / "Makefile"
    ).read_text(encoding="utf-8")


def test_every_script_named_in_the_documentation_exists():
    pages = [*ROOT.glob("docs/*.md"), *ROOT.glob("bench/*.py"), ROOT / "README.md"]
    names = re.compile(r"\b(?:bench|tests)/[\w/]+\.py")
    named = {
        name
        for page in pages
        for name in names.findall(page.read_text(encoding="utf-8"))
    }
    assert len(named) >= 10
    assert {name for name in named if not (ROOT / name).is_file()} == set()


def test_the_places_of_a_change_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (.+) \| (.+) \|$", text, re.M)
    assert len(rows) > 20
    folders = [ROOT, ROOT / "workflow/lextables", ROOT / "tests/unit"]
    for _, places, tests in rows[1:]:
        for name in re.findall(r"`([^`]+)`", f"{places} {tests}"):
            pattern = re.sub(r"<\w+>", "*", name)
            assert any(list(folder.glob(pattern)) for folder in folders), name


def test_every_link_in_the_documentation_has_a_target():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md")]
    texts = {
        page: re.sub(
            r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S
        )
        for page in pages
    }
    anchors = {
        page: {
            re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.+)", text, re.M)
        }
        for page, text in texts.items()
    }
    links = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
    assert links.findall(texts[ROOT / "README.md"])
    for page, text in texts.items():
        for link in links.findall(text):
            if link.startswith("../../actions/"):
                name = link.split("/")[4]  # GitHub's page of a workflow
                assert (ROOT / ".github/workflows" / name).is_file(), link
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), (page.name, link)
            assert not anchor or anchor in anchors[target], (page.name, link)


def test_the_catalog_of_workflows_finds_what_it_needs():
    usage = loaded(".snakemake-workflow-catalog.yml")["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    assert (ROOT / "workflow/Snakefile").is_file()
    text = (ROOT / "config/README.md").read_text(encoding="utf-8")
    keys = re.findall(r"^\| `(\w+)` \|", text, re.M)
    assert len(keys) > 5 and {*keys} <= Config.model_fields.keys()


def test_the_citation_has_the_date_of_its_version():
    citation = loaded("CITATION.cff")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = f"## [{citation['version']}] - {citation['date-released']}"
    assert released in changes.splitlines()


def test_the_image_is_made_of_files_of_the_repository():
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    sources = [line.split()[1] for line in lines if line.startswith("COPY ")]
    assert sources == ["envs/requirements.txt", "."]
    assert all((ROOT / source).exists() for source in sources)


def test_the_links_of_the_public_sites_index_have_targets():
    page = (ROOT / ".github/site/index.html").read_text(encoding="utf-8")
    steps = (ROOT / ".github/workflows/site.yaml").read_text(encoding="utf-8")
    (line,) = re.findall(
        r"^ *cp (\.\./\.github/site/index\.html .+) \.\./site$", steps, re.M
    )
    copied = [name.removeprefix("../") for name in line.split()]
    assert all((ROOT / name).is_file() for name in copied)
    names = {name.rpartition("/")[2] for name in copied}
    reports = {path.name for path in (ROOT / "tests/golden/pages").glob("*.html")}
    for link in re.findall(r'(?:href|src)="([^"]+)"', page):
        folder, _, name = link.rpartition("/")
        if folder == "docs":
            assert (ROOT / link).with_suffix(".md").is_file(), link
        else:
            assert name in (reports if folder == "report" else names), link
