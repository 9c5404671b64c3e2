// Optional conveniences: all pages can be read, and all commands selected, without this script.
"use strict";

const make = (tag, attributes, ...inside) => {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...inside);
  return made;
};
const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

// A copy button for each command.
for (const box of document.querySelectorAll(".command")) {
  const code = box.querySelector("code");
  const button = make("button", { type: "button", textContent: "Copy" });
  button.setAttribute("aria-label", `Copy the command ${code.textContent.slice(0, 60)}`);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  box.append(button);
}

// Open closed parts of the page that contain the link's target.
const reveal = () => {
  let at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
};
addEventListener("hashchange", reveal);
reveal();

// The text of a note as tooltip of its number.
const notes = document.querySelectorAll(".notes > li");
for (const mark of document.querySelectorAll("main sup")) {
  const note = notes[Number(mark.lastChild.textContent) - 1];
  if (note) mark.title = note.textContent;
}

// Tables wider than their box have a hint; tables with many rows can be filtered and sorted.
const number = (cell) => {
  const text = (cell?.querySelector("b") ?? cell?.querySelector(".values") ?? cell)?.textContent ?? "";
  const found = text.replace(/[,\s]/g, "").replace("−", "-").match(/-?\d+(\.\d+)?/);
  return found ? Number(found[0]) : null;
};

const sort = (bodies, column, down) => {
  for (const body of bodies) {
    const rows = [...body.rows].filter((row) => !row.classList.contains("group"));
    const key = (row) => (column === 0 ? row.cells[0].textContent : number(row.cells[column]));
    rows.sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      if (a === null || b === null) return (a === null) - (b === null);
      return (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
    });
    body.append(...rows);
  }
};

const tools = (box, table) => {
  const bodies = [...table.tBodies];
  const order = bodies.map((body) => [...body.rows]);
  const filter = make("input", { type: "search", size: 14 });
  filter.addEventListener("input", () => {
    const wanted = words(filter.value);
    for (const row of order.flat()) {
      if (row.classList.contains("group")) continue;
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
    }
  });
  const by = make("select", {}, make("option", { value: "", textContent: "original" }));
  [...table.tHead.rows[0].cells].forEach((cell, at) => {
    const name = at ? cell.firstChild?.textContent.trim() : "name";
    by.append(make("option", { value: `${at}`, textContent: name }));
    if (at) by.append(make("option", { value: `${at} down`, textContent: `${name}, largest first` }));
  });
  by.addEventListener("change", () => {
    const [column, down] = by.value.split(" ");
    if (by.value) sort(bodies, Number(column), Boolean(down));
    else bodies.forEach((body, at) => body.append(...order[at]));
  });
  box.before(make("div", { className: "tools" }, make("label", {}, "Rows with", filter), make("label", {}, "Order", by)));
};

for (const box of document.querySelectorAll(".scroll")) {
  const table = box.querySelector("table");
  if (table.rows.length > 12 && (box.closest(".grids") || table.matches(".sorted"))) tools(box, table);
  const more = make("p", { className: "more", textContent: "more columns to the right →", hidden: true });
  box.after(more);
  const look = () => { more.hidden = box.scrollWidth - box.clientWidth - box.scrollLeft < 8; };
  box.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(box);
}

// The search and the filters of the first page.
const form = document.querySelector(".find");
if (form && typeof FOUND !== "undefined") {
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  const results = form.querySelector(".results");
  const index = FOUND.map((entry) => [`${entry[0]} ${entry[1]}`.toLowerCase(), entry]);
  form.querySelector("input").addEventListener("input", (event) => {
    const wanted = words(event.target.value);
    const found = wanted.length ? index.filter(([text]) => wanted.every((word) => text.includes(word))) : [];
    const list = make("ul", {}, ...found.slice(0, 40).map(([, [name, kind, href]]) =>
      make("li", {}, make("a", { href, textContent: name }), " ", make("span", { className: "soft", textContent: kind }))));
    const said = found.length > 40 ? `${found.length} found, the first 40:` : found.length ? "" : "Nothing found.";
    results.replaceChildren(...(wanted.length ? [said, list] : []));
  });
  const filters = [...form.querySelectorAll("select")];
  const apply = () => {
    const wanted = Object.fromEntries(filters.map((filter) => [filter.dataset.filter, filter.value]));
    for (const block of document.querySelectorAll(".block")) {
      let some = false;
      for (const row of block.querySelectorAll(".tiles > li")) {
        const { task, verdicts } = row.dataset;
        row.hidden = Boolean((wanted.task && task !== wanted.task)
          || (wanted.verdict && !verdicts.split(" ").includes(wanted.verdict)));
        some ||= !row.hidden;
      }
      block.hidden = !some || Boolean(wanted.paper && block.dataset.paper !== wanted.paper);
    }
  };
  for (const filter of filters) filter.addEventListener("change", apply);
}
