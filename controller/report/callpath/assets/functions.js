// The table of functions: what each has itself and in all, with the shares' intervals where the
// column is what samples measure. Of calls: how many were seen. The values are those that `data` has when the
// table is shown.
"use strict";

causal.functions_table = (elements, data, calls, { chosen, is_chosen }) => {
  const { functions, module_names, columns } = data;
  let column = 0;

  const cell = (values, intervals, number) => {
    const value = values[column][number];
    const share = columns[column].total > 0 ? value / columns[column].total : 0;
    const interval = columns[column].sampled ? causal.interval(intervals[column][number]) : "";
    return [
      `${causal.percent(share)} `,
      causal.element("span", { className: "dim", title: "95 % interval of the share" }, interval),
      causal.element("small", {}, causal.value(value, columns[column].unit)),
    ];
  };
  const name_cell = (number) => {
    const module = functions.module[number];
    return [
      causal.element("span", {}, ...causal.name(functions.name[number])),
      causal.element("small", {}, module < 0 ? "" : module_names[module]),
    ];
  };
  const by_value = (name) => (a, b) => {
    const values = functions[name][column];
    return values[a] - values[b] || b - a;
  };
  const names = { title: "function", hint: "by name", css: "name", first: 1,
    order: (a, b) => functions.name[a].localeCompare(functions.name[b], "en"), cell: name_cell };
  const of_values = [
    { title: "own", hint: "without what it calls", css: "number", first: -1,
      order: by_value("own"), cell: (row) => cell(functions.own, functions.own_interval, row) },
    { title: "total", hint: "with all that it calls; a path on which it occurs several times counts once",
      css: "number", first: -1, order: by_value("total"),
      cell: (row) => cell(functions.total, functions.total_interval, row) },
    names,
  ];

  const bound = (title, hint, number) => {
    const own = (row) => functions.own[number][row];
    return { title, hint, css: "number bound", first: -1, order: (a, b) => own(a) - own(b) || b - a,
      cell: (row) => [causal.grouped(own(row))] };
  };
  const of_calls = data.calls ? [
    bound("at least", "calls that are certain to be different ones", calls.at_least),
    bound("at most", "calls of all samples, of which some may be the same", calls.at_most),
    names,
  ] : [];

  const table = new causal.Table(elements.functions, {
    columns: of_values,
    sorted_by: 0,
    most: 100,
    chosen,
    is_chosen,
    more: elements.more,
  });

  return {
    // Shows the functions that have something of the column, and are in `found`, if that is a set.
    show: (shown_column, found) => {
      column = shown_column;
      const is_calls = calls.has(column);
      const has = is_calls ? functions.own[calls.at_most] : functions.total[column];
      table.use(is_calls ? of_calls : of_values, 0);
      elements.notes.textContent = is_calls ? causal.Calls.notes() : "";
      const all = [...functions.name.keys()].filter((number) => has[number] > 0);
      const rows = found ? all.filter((number) => found.has(number)) : all;
      const count = found ? `${causal.grouped(rows.length)} of ${causal.grouped(all.length)}`
        : causal.grouped(all.length);
      elements.counted.textContent = `${is_calls ? "Calls seen" : columns[column].title}: ${count} functions`;
      table.show(rows);
    },
    mark: () => table.mark(),
  };
};
