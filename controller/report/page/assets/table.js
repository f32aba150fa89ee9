// A table that is sorted by the column whose heading is pressed, and shows its first rows until all
// are wanted.
"use strict";

// A column is {title, hint, css, order: (a, b) => number (ascending), first: 1 or -1, cell: (row) =>
// list of children}. `use()` changes the columns. `chosen(row)` is called for a click or Enter, and `is_chosen(row)` tells which
// rows are marked. `sorted_by` is the number of a column.
causal.Table = class {
  constructor(table, { columns, sorted_by, most, chosen, is_chosen, more }) {
    Object.assign(this, { table, most, chosen, is_chosen, more });
    this.rows = [];
    this.shows_all = false;
    this.head = causal.element("tr");
    this.use(columns, sorted_by);
    this.body = causal.element("tbody");
    table.append(causal.element("thead", {}, this.head), this.body);
    more.addEventListener("click", () => { this.shows_all = true; this.draw(); });
  }

  // Takes other columns, unless they are those that it has, from the next show() on.
  use(columns, sorted_by) {
    if (columns === this.columns) return;
    this.columns = columns;
    this.column = sorted_by;
    this.direction = columns[sorted_by].first;
    this.head.replaceChildren(...columns.map((column, number) => {
      const button = causal.element("button", { type: "button", textContent: column.title, title: column.hint });
      button.addEventListener("click", () => this.sort_by(number));
      return causal.element("th", { className: column.css, scope: "col" }, button);
    }));
  }

  sort_by(number) {
    this.direction = number === this.column ? -this.direction : this.columns[number].first;
    this.column = number;
    this.draw();
  }

  show(rows) {
    this.rows = rows;
    this.draw();
  }

  draw() {
    const { order } = this.columns[this.column];
    const sorted = [...this.rows].sort((a, b) => this.direction * order(a, b));
    const shown = this.shows_all ? sorted : sorted.slice(0, this.most);
    this.body.replaceChildren(...shown.map((row) => this.line(row)));
    for (const [number, cell] of [...this.head.children].entries()) {
      const direction = this.direction > 0 ? "ascending" : "descending";
      cell.setAttribute("aria-sort", number === this.column ? direction : "none");
    }
    this.more.hidden = shown.length === sorted.length;
    this.more.textContent = `Show all ${causal.grouped(sorted.length)}`;
    this.mark();
  }

  line(row) {
    const line = causal.element("tr", { tabIndex: 0 });
    line.row = row;
    for (const column of this.columns) {
      line.append(causal.element("td", { className: column.css }, ...column.cell(row)));
    }
    line.addEventListener("click", () => this.chosen(row));
    line.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") this.chosen(row);
      else if (event.key === "ArrowDown") line.nextSibling?.focus();
      else if (event.key === "ArrowUp") line.previousSibling?.focus();
      else return;
      event.preventDefault();
    });
    return line;
  }

  // Marks the rows that are chosen, without drawing them again.
  mark() {
    for (const line of this.body.children) {
      const chosen = this.is_chosen(line.row);
      line.classList.toggle("chosen", chosen);
      line.setAttribute("aria-selected", chosen);
    }
  }
};
