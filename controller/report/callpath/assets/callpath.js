// The page of a call path profile: a flame graph and a table of functions, which show the same metric
// and the same search.
"use strict";

(() => {
  const LEAST = 0.0005;  // share from which a path from callees to callers is divided further
  const elements = new Proxy({}, { get: (_, id) => document.getElementById(id) });
  const all = causal.data();
  const without_kernel = causal.without_kernel(all);
  const data = { ...all, functions: { ...all.functions } };
  const { columns, functions, modules } = data;
  let paths;  // of what is shown of the data
  const calls = new causal.Calls(data);
  const modes = causal.colors.modes(data);
  const state = {
    column: Math.max(0, columns.findIndex((column) => column.total > 0)),
    by_line: false,
    from_callees: false,
    mode: modes[0],
    found: null,   // set of numbers of functions: what is searched
    label: "",     // of the search, if it is no text
  };
  const trees = new Map();

  const show_kernel = (on) => {
    const shown = on ? all : without_kernel;
    Object.assign(functions, shown.functions);
    data.nodes = shown.nodes;
    paths = new causal.Paths(data);
    trees.clear();
  };
  show_kernel(!all.kernel?.folded);

  // The columns that a frame has values of. With callees first, paths of calls end elsewhere than those of time.
  const columns_shown = () => [...columns.keys()].filter((number) =>
    !state.from_callees || calls.has(number) === calls.has(state.column));

  const tree = () => {
    const name = `${state.from_callees} ${state.by_line} ${state.from_callees && calls.has(state.column)}`;
    if (!trees.has(name)) {
      trees.set(name, state.from_callees ? paths.from_callees(state.by_line, LEAST, columns_shown())
        : paths.from_callers(state.by_line));
    }
    return trees.get(name);
  };

  const share_of = (value, column) => causal.percent(columns[column].total > 0 ? value / columns[column].total : 0);
  // A share of what is known "at most" only would mean nothing.
  const both = (value, column) => causal.value(value, columns[column].unit)
    + (calls.has(column) && column === calls.at_most ? "" : ` (${share_of(value, column)})`);

  const tip_of = (node) => {
    const { element } = causal;
    const module = functions.module[node.function] ?? -1;
    const lines = node.function < 0 ? [] : paths.lines(node, state.column);
    const more = lines.length > 3 ? ` and ${lines.length - 3} more lines` : "";
    const row = (column, number) => element("tr", { className: number === state.column ? "shown" : "" },
      element("th", {}, column.title),
      ...(state.from_callees ? [] : [element("td", {}, both(causal.Paths.own(node, number), number))]),
      element("td", {}, both(node.total[number], number)));
    return [
      element("b", {}, ...causal.name(node.function < 0 ? "all paths" : functions.name[node.function])),
      ...(module < 0 ? [] : [element("span", { className: "dim" }, ...causal.name(modules[module]))]),
      ...(lines.length > 0 ? [element("span", {}, lines.slice(0, 3).join(", ") + more)] : []),
      element("table", {},
        element("thead", {}, element("tr", {}, element("th"),
          ...(state.from_callees ? ["on these paths"] : ["own", "total"]).map((name) => element("th", {}, name)))),
        element("tbody", {}, ...columns_shown().map((number) => row(columns[number], number)))),
    ];
  };

  const pointed = (node) => {
    elements.details.classList.toggle("dim", !node);
    if (!node) {
      elements.details.textContent = flame ? "Point at a frame to see its values." : "";
      return;
    }
    const own = state.from_callees ? "" : `, own ${both(causal.Paths.own(node, state.column), state.column)}`;
    elements.details.replaceChildren(...causal.name(node.name),
      `: ${both(node.total[state.column], state.column)}${own}`);
  };

  const drawn = (count) => {
    let drawable = 0;
    causal.each_node(tree(), (node) => {
      if (!(node.total[state.column] > 0)) return false;
      drawable += 1;
      return true;
    });
    const left_out = drawable > count ? ` Frames narrower than ${causal.Flame.NARROWEST} pixels are left out: zoom to see them.` : "";
    const pruned = state.from_callees
      ? ` Paths with less than ${100 * LEAST} % of everything are not followed to their callers.` : "";
    elements.drawn.textContent =
      `${causal.grouped(count)} of ${causal.grouped(drawable)} frames are drawn.${left_out}${pruned}`;
  };

  const flame = columns[state.column].total > 0 ? new causal.Flame(elements.flame, elements.tip, { tip_of, pointed, drawn }) : null;

  // The paths through what is searched: a path on which it occurs several times counts once.
  const search_graph = () => {
    if (!state.found) { elements.matched.textContent = ""; return null; }
    const found = new Set();
    let sum = 0;
    const todo = [[tree(), false]];
    while (todo.length > 0) {
      const [node, below] = todo.pop();
      const here = state.found.has(node.function);
      if (here) found.add(node);
      if (here && !below) sum += node.total[state.column];
      for (const child of node.children) todo.push([child, below || here]);
    }
    const name = state.label || `“${elements.search.value}”`;
    elements.matched.textContent = found.size > 0
      ? `Matched: ${name} is on paths with ${both(sum, state.column)} of ${columns[state.column].title}.`
      : `Nothing matches ${name}.`;
    return found;
  };

  const table = causal.functions_table(elements, data, calls, {
    chosen: (number) => choose(new Set([number]), functions.name[number]),
    is_chosen: (number) => Boolean(state.label) && state.found.has(number),
  });

  const legend = () => {
    elements.legend.replaceChildren(...state.mode.legend().map(({ color, text, functions: numbers }) => {
      const swatch = causal.element("span");
      swatch.style.background = color;
      const button = causal.element("button", { type: "button", title: "search the functions of this colour" },
        swatch, text);
      button.addEventListener("click", () => choose(new Set(numbers), text));
      return button;
    }));
  };

  const searched = () => {
    const found = search_graph();
    flame?.mark(found);
    elements.clear.disabled = !state.found && elements.search.value === "";
  };

  // Searches functions that were pointed at; the same ones again end the search.
  const choose = (numbers, label) => {
    const again = state.label === label;
    elements.search.value = "";
    elements.search.setAttribute("aria-invalid", "false");
    const was_text = Boolean(state.found) && !state.label;
    Object.assign(state, again ? { found: null, label: "" } : { found: numbers, label });
    if (was_text) table.show(state.column, null);
    table.mark();
    searched();
  };

  // Capital letters in a text are told from small ones only if it has some.
  const search_text = () => {
    const text = elements.search.value;
    let pattern = null;
    try {
      const source = elements.regexp.checked ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
      pattern = new RegExp(source, text === text.toLowerCase() ? "iu" : "u");
      elements.search.setAttribute("aria-invalid", "false");
    } catch (error) {
      elements.search.setAttribute("aria-invalid", "true");
      elements.matched.textContent = `This is no regular expression: ${error.message}`;
      return;
    }
    state.label = "";
    state.found = text === "" ? null
      : new Set([...functions.name.keys()].filter((number) => pattern.test(functions.name[number])));
    table.show(state.column, state.found);
    searched();
  };

  const clear = () => {
    elements.search.value = "";
    search_text();
  };

  const show = () => {
    table.show(state.column, state.label ? null : state.found);
    const shown = tree();
    pointed(null);
    const is_empty = !(columns[state.column].total > 0);
    elements.empty.hidden = !is_empty;
    elements.flame.hidden = !flame || is_empty;
    elements.meaning.textContent = calls.has(state.column) ? causal.Calls.meaning(state.from_callees) : "";
    if (flame && !is_empty) {
      flame.found = search_graph();
      flame.show(shown, state.column, state.mode);
    }
    const order = state.from_callees ? "each function with its callers" : "each function with what it calls";
    elements["graph-title"].textContent = `${columns[state.column].title}: ${order}`;
    legend();
  };

  const prepare_controls = () => {
    causal.choices(elements.metric, columns.map(({ title, total }, number) => [number, title, total === 0])
        .filter(([number]) => !calls.has(number) || number === calls.at_least),
      (number) => { state.column = Number(number); show(); });
    elements.metric.value = state.column;
    causal.choices(elements.detail, [["function", "function"], ["line", "function and line"]],
      (detail) => { state.by_line = detail === "line"; show(); });
    causal.choices(elements.roots, [["callers", "callers first"], ["callees", "callees first"]],
      (roots) => { state.from_callees = roots === "callees"; show(); });
    causal.choices(elements.direction, [["down", "down (icicles)"], ["up", "up (flames)"]],
      (direction) => { flame?.set_up(direction === "up"); });
    causal.choices(elements.colors, modes.map(({ name, title }) => [name, title]), (name) => {
      state.mode = modes.find((mode) => mode.name === name);
      show();
    });
    elements["kernel-choice"].hidden = !all.kernel;
    elements.kernel.checked = !all.kernel?.folded;
    elements.kernel.addEventListener("change", () => { show_kernel(elements.kernel.checked); show(); });
    causal.themes(elements.theme);
    elements.search.addEventListener("input", causal.later(search_text, 120));
    elements.regexp.addEventListener("change", search_text);
    elements.clear.addEventListener("click", clear);
    elements.reset.addEventListener("click", () => flame?.reset());
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;  // the browser's
      const writes = event.target.matches("input[type=search], select");
      if (event.key === "/" && !writes) elements.search.focus();
      else if (event.key === "k" && !writes && all.kernel) elements.kernel.click();
      else if (event.key === "Escape" && (state.found || elements.search.value)) clear();
      else if (event.key === "Escape" || (event.key === "Home" && !writes)) flame?.reset();
      else return;
      event.preventDefault();
    });
  };

  for (const id of ["detail", "roots", "direction", "colors", "reset"]) elements[id].disabled = !flame;
  prepare_controls();
  show();
  elements.clear.disabled = true;
})();
