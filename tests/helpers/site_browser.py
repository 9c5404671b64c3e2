"""Checks of a site in a real browser: axe-core violations, console errors, and the
layout on screens.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
SCREENS = ((1280, "light"), (390, "dark"), (1280, "dark"), (390, "light"))
MAX_STOPS = 120  # of the Tab key on a page
# Number of visible elements that the Tab key reaches.
STOPS = """[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
    .filter(shown => shown.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})).length"""


@contextmanager
def browser() -> Iterator:
    """Start a browser without network access; skip the test if no browser is
    installed.
    """
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed"
    )
    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@contextmanager
def opened(chromium, page: Path, width: int = 1280, **more) -> Iterator:
    """Open a page of a site; yield the page and the list of its errors so far."""
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, offline=True, **more
    )
    shown = context.new_page()
    errors = []
    shown.on(
        "console",
        lambda message: (
            errors.append(message.text) if message.type == "error" else None
        ),
    )
    shown.on("pageerror", lambda error: errors.append(str(error)))
    shown.on(
        "requestfailed",
        lambda request: errors.append(f"{request.url} cannot be loaded"),
    )
    shown.goto(page.resolve().as_uri())
    yield shown, errors
    context.close()


def faults(
    chromium, page: Path, screens: Sequence[tuple[int, str]] = SCREENS[:2]
) -> list[str]:
    """Return messages about all errors of a page on these screens (width in pixels,
    colour scheme).
    """
    axe = pytest.importorskip(
        "axe_core_python.sync_playwright", reason="axe-core is not installed"
    ).Axe()
    messages = []
    with opened(chromium, page) as (shown, errors):
        for width, scheme in screens:
            shown.set_viewport_size({"width": width, "height": 900})
            shown.emulate_media(color_scheme=scheme)
            broken = axe.run(shown)["violations"]
            errors += [
                f"axe: {rule['id']} at {rule['nodes'][0]['target']}" for rule in broken
            ]
            if shown.evaluate("document.documentElement.scrollWidth > innerWidth"):
                errors.append("the page scrolls sideways")
            stops = shown.evaluate(STOPS)
            if stops > MAX_STOPS:
                errors.append(f"{stops} stops of the Tab key")
            for error in errors:
                messages.append(f"{page.name}, {width} pixels, {scheme}: {error}")
            errors.clear()
    return messages
