// Names and keyboard access that the theme leaves out.

// On a small screen the menu consists of labels.  The Enter key opens them, but the Tab key does not reach them.
const SMALL = matchMedia("(max-width: 76.234375em)");
const MENU = ".md-header__button[for='__drawer'], .md-sidebar--primary label[for^='__']";

function complete() {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-code__nav").forEach((buttons, position) => {
    buttons.setAttribute("aria-label", `Code ${position + 1}`);
  });
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) {
    table.tabIndex = table.scrollWidth > table.clientWidth ? 0 : -1;
  }
  for (const label of document.querySelectorAll(MENU)) {
    label.tabIndex = SMALL.matches ? 0 : -1;
    label.title = label.textContent.trim() || "Menu";
  }
}

new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", complete);
complete();
