// Lines from the ends of blocks to where they jump, beside a listing.
"use strict";

causal.arcs = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const LANE = 7;
  const MOST_LANES = 16;

  const drawn = (tag, properties) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
    return element;
  };

  // Short lines are near the code. Two in one lane do not overlap, until all lanes are taken. Sets `lane`
  // of each.
  const choose_lanes = (lines) => {
    const lanes = [];
    const span = ({ start, end }) => [Math.min(start, end), Math.max(start, end)];
    const length = (line) => Math.abs(line.end - line.start);
    for (const line of [...lines].sort((a, b) => length(a) - length(b))) {
      const [low, high] = span(line);
      const is_free = (taken) => taken.every(([from, to]) => high < from || to < low);
      const free = lanes.findIndex(is_free);
      line.lane = free >= 0 ? free : Math.min(lanes.length, MOST_LANES - 1);
      (lanes[line.lane] ??= []).push([low, high]);
    }
    return lanes.length;
  };

  // Draws into `svg`. An edge is {from, to, passes}; `start(block)` and `end(block)` tell at which heights
  // it leaves a block and comes to one. Returns how wide the lines are, in pixels.
  const draw = (svg, edges, start, end) => {
    const lines = edges
      .filter(({ from, to }) => from !== null && to !== null && to !== from + 1)
      .map((edge) => ({ edge, start: start(edge.from), end: end(edge.to) }))
      .filter((line) => line.start !== line.end); // both are in one gap
    const width = (choose_lanes(lines) + 2) * LANE;
    const most = Math.max(1, ...lines.map(({ edge }) => edge.passes ?? 0));
    svg.replaceChildren(...lines.map(({ edge, start: y, end: to, lane }) => {
      const x = width - (lane + 2) * LANE;
      const path = drawn("path", {
        d: `M${width} ${y}H${x}V${to}H${width}m-4 -3l4 3l-4 3`,
        "stroke-width": 1 + 2 * Math.sqrt((edge.passes ?? 0) / most),
        class: edge.to <= edge.from ? "back" : "",
      });
      Object.assign(path, { edge });
      return path;
    }));
    svg.setAttribute("width", width);
    return width;
  };

  const mark = (svg, block) => {
    for (const path of svg.children) {
      path.classList.toggle("on", path.edge.from === block || path.edge.to === block);
    }
  };

  return { draw, mark };
})();
