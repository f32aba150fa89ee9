// Trees of call paths, made of the page's data (controller/report/callpath/html.cc). A node of a tree
// is {name, function, parent, children, members, total}: `function` is its number in the data (-1 for
// the root), `members` are the nodes of the data that it stands for, and `total` has a value for each
// column.
"use strict";

causal.Paths = class {
  constructor(data) {
    this.data = data;
    const { up, own } = data.nodes;
    this.count = up.length;
    this.parent = Uint32Array.from(up, (distance, node) => node - distance);
    // A parent comes before its children.
    this.totals = own.map((column) => {
      const sums = Float64Array.from(column);
      for (let node = this.count; --node > 0;) sums[this.parent[node]] += sums[node];
      return sums;
    });
  }

  // What nodes are told apart by: their function, or their line.
  key_of(node, by_line) {
    const place = this.data.nodes.place[node];
    return by_line ? place : this.data.places.function[place];
  }

  // Returns a place as "main.c:12", or an empty text.
  line_of(place) {
    const { file, line } = this.data.places;
    return line[place] > 0 ? `${this.data.files[file[place]]}:${line[place]}` : "";
  }

  node(parent, member, by_line) {
    const place = this.data.nodes.place[member];
    const number = this.data.places.function[place];
    const line = by_line ? this.line_of(place) : "";
    const name = this.data.functions.name[number];
    return this.made(parent, line ? `${name} (${line})` : name, number);
  }

  made(parent, name, number) {
    const total = new Float64Array(this.data.columns.length);
    const node = { name, function: number, parent, children: [], members: [], total };
    if (parent) parent.children.push(node);
    return node;
  }

  // Returns the root of the tree from callers to callees.
  from_callers(by_line) {
    const keys = (by_line ? this.data.places.function : this.data.functions.name).length;
    const root = this.made(null, "all", -1);
    const merged = [root];
    const number_of = new Map([[root, 0]]);
    const known = new Map();
    for (let node = 1; node < this.count; ++node) {
      const above = merged[this.parent[node]];
      const key = number_of.get(above) * keys + this.key_of(node, by_line);
      let here = known.get(key);
      if (!here) {
        here = this.node(above, node, by_line);
        known.set(key, here);
        number_of.set(here, known.size);
      }
      here.members.push(node);
      merged.push(here);
      this.totals.forEach((column, i) => { here.total[i] += column[node]; });
    }
    this.totals.forEach((column, i) => { root.total[i] = column[0]; });
    return root;
  }

  // Returns the root of the tree from callees to callers: below a function are those that call it,
  // with what of its own values comes from each. Only these columns have values. A node with less than
  // `least` of all in every one is not divided further, because there may be a node for each node and depth.
  from_callees(by_line, least, columns) {
    const all = this.totals.map((column) => column[0]);
    const root = this.made(null, "all", -1);
    root.total.set(all);
    const { own } = this.data.nodes;
    let cursor = [];
    for (let node = 1; node < this.count; ++node) {
      if (columns.some((column) => own[column][node] > 0)) cursor.push(node);
    }
    const todo = [{ node: root, origins: cursor, cursors: cursor }];
    while (todo.length > 0) {
      const { node, origins, cursors } = todo.pop();
      const groups = new Map();
      cursors.forEach((at, i) => {
        const key = this.key_of(at, by_line);
        let group = groups.get(key);
        if (!group) {
          group = { node: this.node(node, at, by_line), origins: [], cursors: [] };
          groups.set(key, group);
        }
        group.node.members.push(at);
        for (const column of columns) group.node.total[column] += own[column][origins[i]];
        if (this.parent[at] === 0) return;
        group.origins.push(origins[i]);
        group.cursors.push(this.parent[at]);
      });
      for (const group of groups.values()) {
        const worth = columns.some((column) => group.node.total[column] > least * all[column]);
        if (worth && group.cursors.length > 0) todo.push(group);
      }
    }
    return root;
  }

  // Returns the lines that a node stands for, those with the most of a column first.
  lines(node, column) {
    const values = new Map();
    for (const member of new Set(node.members)) {
      const line = this.line_of(this.data.nodes.place[member]);
      if (line) values.set(line, (values.get(line) ?? 0) + this.totals[column][member]);
    }
    return [...values].sort((a, b) => b[1] - a[1]).map(([line]) => line);
  }

  // What a node has without its children.
  static own(node, column) {
    return node.children.reduce((rest, child) => rest - child.total[column], node.total[column]);
  }
};

// Calls `visit` for a node and all below it, parents first; not for what is below a node for which it
// returns false.
causal.each_node = (root, visit) => {
  const todo = [root];
  while (todo.length > 0) {
    const node = todo.pop();
    if (visit(node) !== false) todo.push(...node.children);
  }
};
