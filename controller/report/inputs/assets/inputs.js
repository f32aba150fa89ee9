// The page of input sizes: a table of routines, and plots of those that are chosen. Its data is what the JSON
// report has (docs/inputs-schema.json).
"use strict";

(() => {
  const MOST_SERIES = 6;
  const MOST_ROWS = 40;
  const { element } = causal;
  const data = causal.data();
  const at = (id) => document.getElementById(id);
  const state = { metric: data.metric, cost: data.cost, of: "mean", axes: "logarithmic", fits: true, search: "" };
  let chosen = data.routines.slice(0, 1); // the one that was chosen last is the last one

  const growth = (routine, of = state.of) => routine.growth.find(
    (one) => one.metric === state.metric && one.cost === state.cost && one.of === of);

  const value = (row) => {
    if (state.of === "worst") return row.cost[state.cost].max;
    return (state.of === "own" ? row.own : row.cost)[state.cost].sum / row.calls;
  };

  const is_fast = (routine) => growth(routine, "mean")?.verdict === "superlinear" || growth(routine, "worst")?.verdict === "superlinear";
  const by_text = (of) => (a, b) => of(a).localeCompare(of(b));
  const rank = new Map(data.routines.map((routine, number) => [routine, number]));

  const columns = () => [
    { title: "share", hint: "of the run, with what it calls", css: "number", first: -1, order: (a, b) => a.share[state.cost] - b.share[state.cost],
      cell: (one) => [causal.percent(one.share[state.cost])] },
    { title: "own", hint: "of the run, without what it calls", css: "number", first: -1, order: (a, b) => a.own_share[state.cost] - b.own_share[state.cost],
      cell: (one) => [causal.percent(one.own_share[state.cost])] },
    { title: "growth", hint: "of the cost; sorted by the rank of the text report", css: "growth", first: 1, order: (a, b) => rank.get(a) - rank.get(b),
      cell: (one) => [element("span", { className: is_fast(one) ? "fast" : "" }, growth(one)?.words ?? "")] },
    { title: "sizes", hint: "distinct input sizes", css: "number", first: -1, order: (a, b) => (growth(a)?.sizes ?? 0) - (growth(b)?.sizes ?? 0),
      cell: (one) => [causal.grouped(growth(one)?.sizes ?? 0)] },
    { title: "calls", hint: "activations", css: "number", first: -1, order: (a, b) => a.calls - b.calls,
      cell: (one) => [causal.grouped(one.calls)] },
    { title: "routine", hint: "and the file with its code", css: "name", first: 1, order: by_text((one) => one.name),
      cell: (one) => [...causal.name(one.name), element("small", {}, one.file ? `${one.file}:${one.line}` : one.module)] },
  ];

  const point = (routine, row, y, what) => ({
    x: row.size, y,
    text: `${routine.name}: ${state.metric} ${causal.grouped(row.size)}, ${what}, ${causal.grouped(row.calls)} calls`,
  });

  const series = (make_point, with_line) => chosen.map((routine, number) => ({
    css: `s${number}`,
    shape: number,
    points: routine.rows[state.metric].map((row) => make_point(routine, row)),
    line: with_line && state.fits ? growth(routine)?.line ?? [] : [],
  }));

  const draw_plots = () => {
    const told = (text) => { at("details").textContent = text; };
    const common = { x_name: `${state.metric}, cells`, is_logarithmic: state.axes === "logarithmic", told };
    causal.plot.draw(at("cost-plot"), {
      ...common, y_name: `${state.cost} (${state.of})`,
      series: series((routine, row) => point(routine, row, value(row), `${causal.grouped(value(row))} ${state.cost}`), true),
    });
    causal.plot.draw(at("calls-plot"), {
      ...common, y_name: "calls",
      series: series((routine, row) => point(routine, row, row.calls, "workload"), false),
    });
    told("");
  };

  const draw_facts = () => {
    at("legend").replaceChildren(...chosen.map((routine, number) => {
      const entry = element("span", { className: `s${number}` }, ...causal.name(routine.name), `: ${growth(routine)?.words ?? ""}`);
      entry.dataset.mark = causal.plot.MARKS[number];
      return entry;
    }));
    const last = chosen.at(-1);
    if (!last) {
      at("facts").textContent = "No routine is chosen.";
      return;
    }
    const input = `Of its input by trms, ${causal.percent(last.external_share)} was written by the kernel and `
      + `${causal.percent(last.thread_share)} by other threads during the call; ${causal.percent(last.volume)} is not in rms. `
      + `Distinct sizes: ${last.rows.trms.length} by trms, ${last.rows.rms.length} by rms.`;
    const disagreement = last.disagreement ? ` The metrics disagree: ${last.disagreement}.` : "";
    at("facts").replaceChildren(element("strong", {}, ...causal.name(last.name)), ` — ${input}${disagreement}`);
  };

  const table = new causal.Table(at("routines"), {
    columns: columns(), sorted_by: 2, most: MOST_ROWS, more: at("more"),
    is_chosen: (routine) => chosen.includes(routine),
    chosen: (routine) => {
      chosen = chosen.includes(routine) ? chosen.filter((one) => one !== routine) : [...chosen, routine].slice(-MOST_SERIES);
      table.mark();
      draw_facts();
      draw_plots();
    },
  });

  const show = () => {
    const wanted = state.search.toLowerCase();
    table.show(data.routines.filter((routine) => routine.name.toLowerCase().includes(wanted)));
    draw_facts();
    draw_plots();
  };

  const choice = (id, options) => {
    causal.choices(at(id), options.map((option) => [option, option]), (picked) => { state[id] = picked; show(); });
    at(id).value = state[id];
  };
  choice("metric", ["trms", "rms"]);
  choice("cost", ["blocks", "instructions"]);
  choice("of", ["mean", "worst", "own"]);
  choice("axes", ["logarithmic", "linear"]);
  at("fits").addEventListener("change", () => { state.fits = at("fits").checked; draw_plots(); });
  at("search").addEventListener("input", causal.later(() => { state.search = at("search").value; show(); }, 150));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.matches("input, select")) return;
    event.preventDefault();
    at("search").focus();
  });
  window.addEventListener("resize", causal.later(draw_plots, 100));
  causal.themes(at("theme"));
  show();
})();
