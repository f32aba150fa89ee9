// The flame graph: the library d3-flame-graph (which lays out, draws and zooms), and what it lacks:
// keys, a tip with all values, colours by mode, and a search whose result the page chooses.
"use strict";

causal.Flame = class {
  static ROW = 18;       // pixels
  static NARROWEST = 2;  // pixels of a frame that is drawn; zooming makes frames wider

  // `tip_of(node)` returns the content of the tip, `pointed(node)` is called for the frame that the
  // mouse or the keys point at (null: none), and `drawn(count)` after each drawing.
  constructor(container, tip, { tip_of, pointed, drawn }) {
    Object.assign(this, { container, tip, tip_of, pointed, drawn });
    this.column = 0;
    this.found = null;  // set of nodes
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.chart = flamegraph.default()
      .width(container.clientWidth)
      .cellHeight(causal.Flame.ROW)
      .minFrameSize(causal.Flame.NARROWEST)
      .transitionDuration(calm ? 0 : 200)
      .resetHeightOnZoom(true)
      .getName((drawing) => drawing.data.name)
      .getValue((node) => node.total[this.column])
      .label(() => "")  // of the library's own details, which the page does not use
      .tooltip(this.tooltip())
      .onClick((drawing) => { this.current = drawing.data; this.after(); })
      .setColorMapper((drawing) => this.color(drawing.data));
    container.addEventListener("keydown", (event) => this.key(event));
    container.addEventListener("mouseleave", () => this.point(null));
    container.addEventListener("blur", () => this.tooltip_hidden());
    new ResizeObserver(causal.later(() => this.resized(), 50)).observe(container);
  }

  // Shows another tree, or the same one by another column. Siblings with more come first.
  show(root, column, colors) {
    Object.assign(this, { column, colors });
    causal.each_node(root, (node) => {
      node.children.sort((a, b) => b.total[column] - a.total[column]);
    });
    if (this.root !== root) this.current = null;
    this.root = root;
    if (this.started) {
      this.chart.update(root);
    } else {
      this.started = true;
      d3.select(this.container).datum(root).call(this.chart);
    }
    this.drawing_of = new Map();
    d3.select(this.container).datum().each((drawing) => this.drawing_of.set(drawing.data, drawing));
    if (this.zoomed() && !(this.zoomed().total[column] > 0)) this.reset();
    else this.after();
  }

  redraw() {
    this.chart.update();
    this.after();
  }

  resized() {
    const width = this.container.clientWidth;
    if (!this.started || width === 0 || width === this.chart.width()) return;
    this.chart.width(width);
    this.redraw();
  }

  set_up(up) {
    this.up = up;
    this.chart.inverted(!up);
  }

  mark(found) {
    this.found = found;
    this.redraw();
  }

  color(node) {
    if (this.found?.has(node)) return causal.colors.marked;
    const color = this.colors.color(node);
    return this.found ? causal.colors.pale(color) : color;
  }

  // Returns the node that has the whole width: the first one that is neither faded nor hidden.
  zoomed() {
    let node = this.root;
    while (node?.fade) node = node.children.find((child) => !child.hide);
    return node === this.root ? null : node;
  }

  zoom(node) {
    this.chart.zoomTo(this.drawing_of.get(node));
  }

  reset() {
    this.chart.resetZoom();
  }

  // The library leaves two rows free, and sets the height and the classes at each drawing.
  after() {
    const svg = d3.select(this.container).select("svg");
    const height = this.chart.height() - 2 * causal.Flame.ROW;
    const top = this.up ? 2 * causal.Flame.ROW : 0;
    svg.attr("height", height).attr("viewBox", `0 ${top} ${this.chart.width()} ${height}`);
    const frames = svg.selectAll("g.frame").classed("current", (drawing) => drawing.data === this.current);
    this.drawn(frames.size());
  }

  point(node) {
    this.pointed(node ?? this.current);
  }

  tooltip() {
    const tip = () => {};
    tip.show = (event, { data }) => {
      this.point(data);
      this.tip.replaceChildren(...this.tip_of(data));
      this.tip.hidden = false;
      const { offsetWidth, offsetHeight } = this.tip;
      const left = Math.min(event.clientX + 14, innerWidth - offsetWidth - 8);
      const below = event.clientY + 18;
      const top = below + offsetHeight > innerHeight ? event.clientY - offsetHeight - 10 : below;
      Object.assign(this.tip.style, { left: `${Math.max(4, left)}px`, top: `${Math.max(4, top)}px` });
    };
    tip.hide = () => this.tooltip_hidden();
    return tip;
  }

  tooltip_hidden() {
    this.tip.hidden = true;
  }

  // Returns the sibling of the current node that is `step` further among those with a value.
  sibling(step) {
    const siblings = this.current.parent?.children.filter((node) => node.total[this.column] > 0) ?? [];
    return siblings[siblings.indexOf(this.current) + step];
  }

  key(event) {
    const [to_child, to_parent] = this.up ? ["ArrowUp", "ArrowDown"] : ["ArrowDown", "ArrowUp"];
    const at = this.current;
    let next = null;
    if (event.key === "Enter" && at) return this.zoom(at);
    if (!["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
    event.preventDefault();
    if (!at) next = this.zoomed() ?? this.root;
    else if (event.key === to_parent) next = at.parent;
    else if (event.key === to_child) next = at.children.find((node) => node.total[this.column] > 0);
    else next = this.sibling(event.key === "ArrowLeft" ? -1 : 1);
    if (!next) return;
    this.current = next;
    this.point(next);
    this.after();
    this.container.querySelector(".current")?.scrollIntoView({ block: "nearest" });
  }
};
