"""Take the picture of a table for README.md, from a finished report, in Chromium.

    python bench/take_picture.py results/report/tables/acord-table3.html docs/acord_table3.png

Needs Debian's Chromium, or another one named by CHROMIUM, and the packages that `make test` installs.
"""

import argparse
import os
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, SCALE = 1040, 1.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", type=Path, help="the table's page in a report")
    parser.add_argument("picture", type=Path, help="the PNG to write")
    args = parser.parse_args()
    with sync_playwright() as playwright:
        program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=SCALE)
        page.goto(args.page.resolve().as_uri())
        page.locator("main .scroll").first.screenshot(path=args.picture)
        browser.close()


if __name__ == "__main__":
    main()
