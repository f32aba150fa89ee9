// How frames are coloured. A mode is {name, title, color: (node) => CSS colour, legend: () => list of
// {color, text, functions}}; a value for each function or node is one more mode.
"use strict";

causal.colors = (() => {
  // Light enough for dark text. Neighbours are told apart by people who see few colours, too.
  const PALETTE = ["#f6b26b", "#8ab8f0", "#a8d08d", "#e6a5c9", "#f5dd72", "#8fd3cf", "#c4b0ea",
    "#f0a08c", "#c9c5a3"];
  const REST = "#c3c8ce";
  const GROUP = "#dfe3e8";
  const MARKED = "#e66cf5";

  // FNV-1a
  const hash = (text) => {
    let value = 2166136261;
    for (let i = 0; i < text.length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
    return value >>> 0;
  };

  // A colour for each module; the ninth and those after it, by own value, share one.
  const by_module = ({ functions, modules, module_names }) => {
    const own = new Float64Array(modules.length);
    functions.module.forEach((module, number) => {
      if (module >= 0) own[module] += functions.own[0]?.[number] ?? 0;
    });
    const ranked = [...own.keys()].sort((a, b) => own[b] - own[a]);
    const color = new Map(ranked.map((module, rank) => [module, PALETTE[rank] ?? REST]));
    const of = (number) => functions.name.map((_, i) => i).filter((i) => functions.module[i] === number);
    return {
      name: "module",
      title: "module",
      color: (node) => color.get(functions.module[node.function]) ?? GROUP,
      legend: () => ranked.slice(0, PALETTE.length).map((module) => ({
        color: color.get(module), text: module_names[module], functions: of(module),
      })),
    };
  };

  const by_function = () => ({
    name: "function",
    title: "function",
    color: (node) => {
      if (node.function < 0) return GROUP;
      const value = hash(node.name);
      return `hsl(${10 + value % 45} ${65 + (value >>> 8) % 25}% ${66 + (value >>> 16) % 12}%)`;
    },
    legend: () => [],
  });

  // How a path differs from the other recording: `difference` has what values of the first two columns
  // (new and old) are divided by, and for each function whether it has changed for certain.
  const by_difference = ({ difference, functions }) => {
    const [UP, DOWN, LEAST] = ["#f08a70", "#7fb0f0", 15];
    const { bases, changed } = difference;
    const of = (node) => {
      const [after, before] = bases.map((base, column) => (base > 0 ? node.total[column] / base : 0));
      return after + before > 0 ? (after - before) / (after + before) : 0;
    };
    return {
      name: "difference",
      title: "difference",
      color: (node) => {
        if (!changed[node.function]) return GROUP;
        const value = of(node);
        const part = LEAST + (100 - LEAST) * Math.min(1, 2 * Math.abs(value));
        return `color-mix(in srgb, ${value > 0 ? UP : DOWN} ${part.toFixed(0)}%, ${GROUP})`;
      },
      legend: () => [
        { color: UP, text: "more than before", functions: [] },
        { color: DOWN, text: "less than before", functions: [] },
        { color: GROUP, text: "functions without a certain change",
          functions: [...functions.name.keys()].filter((number) => !changed[number]) },
      ],
    };
  };

  // How much the program gains by what is on a path, from a causal profile: `causal` has for each node
  // how many samples end there, how many of these are in units whose slope is certain, and the sum of
  // these slopes. A frame has the mean of what is below it; grey where less than half is certain.
  const by_slope = ({ causal: slopes, nodes }) => {
    const [GAIN, NONE, LOSS, FULL] = ["#f2a33c", "#b9d3e8", "#c79bd8", 0.8];
    const summed = (own) => {
      const sums = Float64Array.from(own);
      for (let node = sums.length; --node > 0;) sums[node - nodes.up[node]] += sums[node];
      return sums;
    };
    const [samples, certain, sums] = [slopes.samples, slopes.certain, slopes.slopes].map(summed);
    const all = (list, node) => {
      if (node.members.length === 0) return list[0];
      return node.members.reduce((sum, member) => sum + list[member], 0);
    };
    return {
      name: "slope",
      title: `gain of ${slopes.point}`,
      color: (node) => {
        const known = all(certain, node);
        if (known === 0 || known < 0.5 * all(samples, node)) return REST;
        const slope = all(sums, node) / known;
        const part = 100 * Math.min(1, Math.abs(slope) / FULL);
        return `color-mix(in srgb, ${slope > 0 ? GAIN : LOSS} ${part.toFixed(0)}%, ${NONE})`;
      },
      legend: () => [
        { color: GAIN, text: "faster code here makes the program faster", functions: [] },
        { color: NONE, text: "it does not", functions: [] },
        { color: LOSS, text: "it makes the program slower", functions: [] },
        { color: REST, text: "not certain, or not tried", functions: [] },
      ],
    };
  };

  return {
    modes: (data) => [...(data.causal ? [by_slope(data)] : []), ...(data.difference ? [by_difference(data)] : []),
      by_module(data), by_function()],
    marked: MARKED,
    // While something is searched, what is not found steps back.
    pale: (color) => `color-mix(in srgb, ${color} 35%, ${REST})`,
  };
})();
