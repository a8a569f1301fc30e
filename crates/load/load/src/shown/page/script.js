"use strict";
// Shows the figures at the position of the pointer, from the table that contains them.
for (const figure of document.querySelectorAll("figure[data-table]")) {
  const table = document.getElementById(figure.dataset.table);
  const plot = figure.querySelector(".plot");
  // The heading of the chart already names the kind of time.
  const kind = /^(wait|service|response) (?=p|m)/;
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.replace(kind, ""));
  const rows = [...table.tBodies[0].rows];
  const columns = figure.dataset.columns.split(" ").map(Number);
  const mark = plot.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "line"));
  const at = figure.appendChild(document.createElement("p"));
  mark.setAttribute("class", "mark");
  mark.setAttribute("y2", "100%");
  at.className = "at";

  const hide = (hidden) => {
    mark.style.display = hidden ? "none" : "";
    at.hidden = hidden;
  };
  const show = (event) => {
    const box = plot.getBoundingClientRect();
    const x = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    const row = rows.find((row) => Number(row.dataset.x) >= x) || rows[rows.length - 1];
    if (!row) return;
    const figures = columns.map((column) => `${names[column]} ${row.cells[column].textContent}`);
    at.textContent = [row.cells[0].textContent, ...figures].join(" · ");
    for (const end of ["x1", "x2"]) mark.setAttribute(end, `${x * 100}%`);
    hide(false);
  };
  hide(true);
  plot.addEventListener("pointermove", show);
  plot.addEventListener("pointerdown", show);
  plot.addEventListener("pointerleave", () => hide(true));
}
