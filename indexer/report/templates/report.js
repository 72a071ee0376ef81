"use strict";
(function () {
  const root = document.documentElement;
  for (const tools of document.querySelectorAll(".tools")) tools.hidden = false;

  document.getElementById("theme").addEventListener("click", function () {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  function value(row, column) {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      const button = document.createElement("button");
      button.type = "button";
      head.dataset.label = head.textContent.trim();
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", function () {
        const first = head.classList.contains("n") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = head.getAttribute("aria-sort") === first ? other : first;
        for (const each of heads) each.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const body = table.tBodies[0];
        const rows = Array.from(body.rows, (row) => [value(row, column), row]);
        rows.sort(function ([a], [b]) {
          return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
        });
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const rows = Array.from(document.querySelectorAll("#clusters tbody tr"), (row) => [row.textContent.toLowerCase(), row]);
  search.addEventListener("input", function () {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [text, row] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    found.textContent = words.length ? shown + " of " + rows.length + " clusters" : "";
  });
})();
