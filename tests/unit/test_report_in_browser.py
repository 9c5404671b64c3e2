"""Each kind of page in a real browser: on a screen, on a phone and on paper."""

import pytest
from test_report_site import KINDS

from helpers import site_browser
from helpers.site_results import material, write_results
from lextables.report import site


@pytest.fixture(scope="module")
def chromium():
    with site_browser.browser() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = write_results(tmp_path_factory.mktemp("results"))
    site.write(root / "report", material(root))
    return root / "report"


@pytest.mark.parametrize("path", KINDS)
def test_pages_have_no_faults(chromium, report, path):
    assert site_browser.faults(chromium, report / path) == []


def test_faults_are_found(chromium, report):
    page = report / "worse.html"
    text = (report / "index.html").read_text(encoding="utf-8")
    bad = (
        '<img src="nowhere.png"><div style="width:3000px">wide</div>'
        + "<a href='#how'>link</a>" * 150
        + "<script>document.title = 'run'</script>"
    )
    page.write_text(text.replace("</main>", f"{bad}</main>"))
    errors = " ".join(site_browser.faults(chromium, page, [(390, "light")]))
    page.unlink()
    for message in (
        "nowhere.png cannot be loaded",
        "axe: image-alt",
        "sideways",
        "of the Tab key",
        "Executing inline script violates",  # scripts inside texts do not run
    ):
        assert message in errors


# The width of an A4 page without the browser's margins, in pixels: portrait and
# landscape.
PAPER, TURNED = 718, 1047
ON_PAPER = """() => {
    const tables = [...document.querySelectorAll('.scroll')].map((box) => {
        const [table, place] = [box.firstElementChild.getBoundingClientRect(), box.getBoundingClientRect()];
        return [table.right, table.bottom - place.bottom];
    });
    return [getComputedStyle(document.body).page, ...tables];
}"""


@pytest.mark.parametrize("path", [*KINDS, "tables/acord-table_c1.html"])
def test_tables_on_paper_are_complete_and_do_not_overlap(chromium, report, path):
    with site_browser.opened(chromium, report / path, PAPER) as (page, _):
        page.emulate_media(media="print")
        turned, *_ = page.evaluate(ON_PAPER)
        page.set_viewport_size(
            {"width": TURNED if turned == "wide" else PAPER, "height": 900}
        )
        _, *tables = page.evaluate(ON_PAPER)
        assert turned == "auto"
        for right, below in tables:
            assert right <= page.viewport_size["width"]
            assert below <= 0


def test_headings_of_closed_sections_are_visible_on_paper(chromium, report):
    with site_browser.opened(chromium, report / "tables/acord-table3.html", PAPER) as (
        page,
        _,
    ):
        page.emulate_media(media="print")
        assert page.get_by_text("More about verdicts and intervals").is_visible()
