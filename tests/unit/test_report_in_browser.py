"""Each kind of page in a real browser: with and without scripts, on a screen, on a phone and on paper."""

import pytest
from test_report_site import KINDS

import site_browser
from lextables.report import site
from site_results import RUN, material, write_results


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
    )
    (report / "worse.js").write_text("throw Error('thrown')")
    bad += "<script src='worse.js'></script><script>document.title = 'run'</script>"
    page.write_text(text.replace("</main>", f"{bad}</main>"))
    errors = " ".join(site_browser.faults(chromium, page, [(390, "light")]))
    page.unlink()
    for message in (
        "nowhere.png cannot be loaded",
        "thrown",
        "axe: image-alt",
        "sideways",
        "of the Tab key",
    ):
        assert message in errors
    # Scripts inside texts do not run.
    assert "Executing inline script violates" in errors


def test_pages_can_be_read_without_scripts(chromium, report):
    with site_browser.opened(
        chromium, report / "tables/acord-table3.html", java_script_enabled=False
    ) as (
        page,
        _,
    ):
        assert page.locator(".command code").first.is_visible()
        assert not page.locator("button").count()
    with site_browser.opened(
        chromium, report / "index.html", java_script_enabled=False
    ) as (page, _):
        assert not page.locator(".find").is_visible()
        assert page.get_by_role("link", name="Table 3").is_visible()


def test_search_and_filters(chromium, report):
    with site_browser.opened(chromium, report / "index.html") as (page, errors):
        page.get_by_role("searchbox").fill("own script")
        results = page.locator(".results a").all_inner_texts()
        assert [text for text in results if "<script>" in text]
        page.get_by_role("searchbox").fill("nothing like it")
        assert page.locator(".results").inner_text() == "Nothing found."
        page.get_by_label("With").select_option("not-run")
        assert page.locator(".tiles li:visible a").all_inner_texts() == [
            "Table 3",
            "Figure 2",
        ]
        page.get_by_label("Task").select_option("retrieval")
        assert page.locator(".tiles li:visible a").all_inner_texts() == ["Table 3"]
        assert errors == []


def test_rows_are_filtered_and_sorted(chromium, report):
    with site_browser.opened(chromium, report / "tables/acord-table_c1.html") as (
        page,
        errors,
    ):
        page.get_by_label("Rows with").fill("query 17")
        assert page.locator(".grids tbody tr:visible th").all_inner_texts() == ["17"]
        page.get_by_label("Rows with").fill("")
        page.get_by_label("Order").select_option(label="Query, largest first")
        assert page.locator(".grids tbody th").first.inner_text() == "39"
        page.get_by_label("Order").select_option(label="original")
        assert page.locator(".grids tbody th").first.inner_text() == "0"
        assert errors == []


def test_the_copy_button_copies_the_command(chromium, report):
    with site_browser.opened(
        chromium,
        report / f"{RUN}/seed0.html",
        permissions=["clipboard-read", "clipboard-write"],
    ) as (page, errors):
        page.get_by_role("button", name="Copy the command").first.click()
        page.get_by_text("Copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == page.locator(".command code").first.inner_text()
        assert errors == []


def test_a_table_wider_than_the_screen_has_a_note(chromium, report):
    with site_browser.opened(chromium, report / "data/acord.html", 390) as (page, _):
        page.get_by_text("The first rows of judgements").scroll_into_view_if_needed()
        assert page.locator(".more:visible").count()
    with site_browser.opened(chromium, report / "tables/acord-table_c1.html", 1280) as (
        page,
        _,
    ):
        assert not page.locator(".more:visible").count()


# The width of an A4 page without the browser's margins, in pixels: portrait and landscape.
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
    with site_browser.opened(chromium, report / "data/acord.html", PAPER) as (page, _):
        page.emulate_media(media="print")
        assert page.get_by_text("The first rows of judgements").is_visible()


def test_a_link_into_a_closed_section_opens_it(chromium, report):
    page = report / "tables/acord-table3.html"
    with site_browser.opened(chromium, page) as (shown, _):
        shown.evaluate("document.querySelector('.commands details p').id = 'inside'")
        assert not shown.locator("#inside").is_visible()
        shown.evaluate("location.hash = '#inside'")
        shown.locator("#inside").wait_for(state="visible")
