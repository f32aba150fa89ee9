// The flame graph: lays out and draws the frames of a tree (paths.js), zooms, marks what is searched, and has
// keys and a tip. Only frames that are wide enough to be seen become elements, so that a tree of 50,000 nodes
// has some hundred of them.
"use strict";

causal.Flame = class {
  static ROW = 18;       // pixels
  static NARROWEST = 2;  // pixels of a frame that is drawn; zooming makes frames wider
  static NAMED = 35;     // pixels of a frame into which its name is written

  // `tip_of(node)` returns the content of the tip, `pointed(node)` is called for the frame that the
  // mouse or the keys point at (null: none), and `drawn(count)` after each drawing.
  constructor(container, tip, { tip_of, pointed, drawn }) {
    Object.assign(this, { container, tip, tip_of, pointed, drawn });
    this.column = 0;
    this.root = null;
    this.zoomed = null;        // the node that has the whole width (null: the root)
    this.current = null;       // the node that was clicked, or that the keys have reached
    this.found = null;         // set of nodes
    this.frames = new Map();   // from a node that is drawn to its frame
    this.node_of = new Map();  // and back
    this.svg = causal.Flame.element("svg", {});
    container.append(this.svg);
    const node_at = (event) => this.node_of.get(event.target.closest(".frame"));
    this.svg.addEventListener("click", (event) => {
      const node = node_at(event);
      if (node) this.zoom(node);
    });
    this.svg.addEventListener("mousemove", (event) => {
      const node = node_at(event);
      if (node) this.show_tip(node, event);
      else this.hide_tip();
    });
    container.addEventListener("mouseleave", () => {
      this.hide_tip();
      this.pointed(this.current);
    });
    container.addEventListener("keydown", (event) => this.key(event));
    container.addEventListener("blur", () => this.hide_tip());
    new ResizeObserver(causal.later(() => this.resized(), 50)).observe(container);
  }

  static element(tag, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // Shows another tree, or the same one by another column. Siblings with more come first.
  show(root, column, colors) {
    Object.assign(this, { column, colors });
    causal.each_node(root, (node) => {
      node.children.sort((a, b) => b.total[column] - a.total[column]);
    });
    if (this.root !== root) this.current = null;
    if (this.root !== root || !(this.zoomed?.total[column] > 0)) this.zoomed = null;
    this.root = root;
    this.draw();
  }

  set_up(up) {
    this.up = up;
    this.draw();
  }

  mark(found) {
    this.found = found;
    this.paint();
  }

  zoom(node) {
    this.current = node;
    this.zoomed = node;
    this.draw();
  }

  reset() {
    this.zoomed = null;
    this.draw();
  }

  resized() {
    if (this.container.clientWidth !== this.width) this.draw();
  }

  // Returns how much of the column lies left of a node.
  begin_of(node) {
    let begin = 0;
    for (let at = node; at.parent; at = at.parent) {
      for (const sibling of at.parent.children) {
        if (sibling === at) break;
        begin += sibling.total[this.column];
      }
    }
    return begin;
  }

  // Returns where each node lies that is wide enough to be drawn: {left, width} in pixels, and its depth.
  layout() {
    const top = this.zoomed ?? this.root;
    const begin = this.begin_of(top);
    const scale = this.width / top.total[this.column];
    const places = new Map();
    const todo = [{ node: this.root, from: 0, depth: 0 }];
    for (const { node, from, depth } of todo) {  // those below a node are added while the loop runs
      const left = Math.max(0, (from - begin) * scale);
      const width = Math.min(this.width, (from + node.total[this.column] - begin) * scale) - left;
      if (width < causal.Flame.NARROWEST) continue;
      places.set(node, { left, width, depth });
      let next = from;
      for (const child of node.children) {
        if (child.total[this.column] * scale < causal.Flame.NARROWEST) break;  // and so are those after it
        todo.push({ node: child, from: next, depth: depth + 1 });
        next += child.total[this.column];
      }
    }
    return places;
  }

  draw() {
    this.width = this.container.clientWidth;
    if (!this.root || this.width === 0) return;
    const places = this.layout();
    for (const [node, frame] of this.frames) {
      if (places.has(node)) continue;
      frame.remove();
      this.frames.delete(node);
      this.node_of.delete(frame);
    }
    let rows = 0;
    for (const { depth } of places.values()) rows = Math.max(rows, depth + 1);
    const callers = new Set();  // of the node that is zoomed
    for (let node = this.zoomed?.parent; node; node = node.parent) callers.add(node);
    for (const [node, place] of places) {
      const row = this.up ? rows - 1 - place.depth : place.depth;
      this.place(this.frames.get(node) ?? this.new_frame(node), node, { ...place, top: row * causal.Flame.ROW });
      this.frames.get(node).classList.toggle("fade", callers.has(node));
    }
    for (const [name, value] of Object.entries({ width: this.width, height: rows * causal.Flame.ROW })) {
      this.svg.setAttribute(name, value);
    }
    this.paint();
    this.drawn(places.size);
  }

  new_frame(node) {
    const { element, ROW } = causal.Flame;
    const frame = element("g", { class: "frame", name: node.name }, element("rect", { height: ROW }));
    this.frames.set(node, frame);
    this.node_of.set(frame, node);
    this.svg.append(frame);
    return frame;
  }

  place(frame, node, { left, width, top }) {
    const { element, ROW, NAMED } = causal.Flame;
    frame.setAttribute("transform", `translate(${left}, ${top})`);
    const named = width >= NAMED;
    if (!named) frame.children[1]?.remove();
    else if (!frame.children[1]) {
      const label = causal.element("div", { className: "label", textContent: node.name });
      frame.append(element("foreignObject", { height: ROW }, label));
    }
    for (const each of frame.children) each.setAttribute("width", width);
  }

  paint() {
    for (const [node, frame] of this.frames) {
      frame.firstChild.setAttribute("fill", this.color(node));
      frame.classList.toggle("current", node === this.current);
    }
  }

  color(node) {
    if (this.found?.has(node)) return causal.colors.marked;
    const color = this.colors.color(node);
    return this.found ? causal.colors.pale(color) : color;
  }

  show_tip(node, { clientX, clientY }) {
    if (this.tip.hidden || this.tipped !== node) {
      this.pointed(node);
      this.tip.replaceChildren(...this.tip_of(node));
      this.tip.hidden = false;
      this.tipped = node;
    }
    const { offsetWidth, offsetHeight } = this.tip;
    const left = Math.min(clientX + 14, innerWidth - offsetWidth - 8);
    const below = clientY + 18;
    const top = below + offsetHeight > innerHeight ? clientY - offsetHeight - 10 : below;
    Object.assign(this.tip.style, { left: `${Math.max(4, left)}px`, top: `${Math.max(4, top)}px` });
  }

  hide_tip() {
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
    if (!at) next = this.zoomed ?? this.root;
    else if (event.key === to_parent) next = at.parent;
    else if (event.key === to_child) next = at.children.find((node) => node.total[this.column] > 0);
    else next = this.sibling(event.key === "ArrowLeft" ? -1 : 1);
    if (!next) return;
    this.current = next;
    this.pointed(next);
    this.paint();
    this.frames.get(next)?.scrollIntoView({ block: "nearest" });
  }
};
