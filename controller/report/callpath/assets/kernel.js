// The kernel's part of paths, which the page shows, or gives to the code that called the kernel. `kernel` of
// the page's data has the numbers of the functions of the kernel, `own` and `own_interval` of all functions
// without them, and whether they are `folded` at first (controller/report/callpath/html.cc).
"use strict";

// Returns the page's data without the functions of the kernel.
causal.without_kernel = (data) => {
  if (!data.kernel) return data;
  const hidden = new Set(data.kernel.functions);
  const { up, place, own } = data.nodes;
  const nodes = { up: [], place: [], own: own.map(() => []) };
  const number = new Uint32Array(up.length);  // of the node in the new list that has the values
  up.forEach((distance, node) => {
    const parent = number[node - distance];
    const is_hidden = node > 0 && hidden.has(data.places.function[place[node]]);
    number[node] = is_hidden ? parent : nodes.up.length;
    if (!is_hidden) {
      nodes.up.push(number[node] - parent);
      nodes.place.push(place[node]);
      nodes.own.forEach((column) => column.push(0));
    }
    own.forEach((column, i) => { nodes.own[i][number[node]] += column[node]; });
  });
  const total = data.functions.total.map((column) =>
    column.map((value, number_of_function) => (hidden.has(number_of_function) ? 0 : value)));
  const { own: function_own, own_interval } = data.kernel;
  return { ...data, nodes, functions: { ...data.functions, own: function_own, own_interval, total } };
};
