// A function by block and instruction: why it waits, its code, and where blocks lead.
"use strict";

(() => {
  const calc = causal.data();
  const { element, percent, grouped } = causal;
  const at = (id) => document.getElementById(id);
  const CUTOFFS = [[0.005, "0.5 %"], [0, "nothing"], [0.02, "2 %"], [0.1, "10 %"]];
  const COLUMNS = 7;
  const UNIT = calc.ghz ? "cycles" : "ns";
  const cause_names = new Map(calc.summary.causes.map(({ letter, name }) => [letter, name]));
  const state = { cutoff: CUTOFFS[0][0], source: true, next: 0 };

  const range = ({ share, share_low, share_high }) =>
    `${percent(share)} ${causal.interval([share_low, share_high])}`;
  const times = (number) => (number >= 100 ? grouped(number) : causal.three(number));
  const each = (ns) => (ns === undefined || ns === null ? "" : times(ns * (calc.ghz ?? 1)));

  const show_why = () => {
    const { causes, unexplained, stalls, latency, execution, has_cycles } = calc.summary;
    const row = (least, most, what) => {
      const bar = element("div", { className: "bar" });
      for (const [css, share] of [["most", most], ["least", least]]) {
        const part = element("span", { className: css });
        part.style.width = `${100 * Math.min(1, share)}%`;
        bar.append(part);
      }
      const numbers = percent(least) === percent(most) ? percent(most) : `${percent(least)} to ${percent(most)}`;
      return element("tr", {}, element("td", { className: "number" }, numbers), element("td", {}, bar),
        element("td", {}, what));
    };
    const shown = causes.filter(({ most }) => most >= 0.0005);
    const rest = has_cycles
      ? [[unexplained, "not explained"], [stalls, "stalls together"], [latency, "latency of instructions"],
        [execution, "execution"]]
      : [[unexplained, "execution, latency, or not explained"]];
    at("why").append(element("tbody", {},
      ...shown.map(({ letter, name, least, most }) => row(least, most, `${letter}  ${name}`)),
      ...rest.map(([share, what]) => row(share, share, what))));
    at("why-note").textContent = "Where there are two shares, the first is the time that nothing else can explain, and " +
      "the second all time that this cause may explain.";
  };

  const letters = (culprits) => [...(culprits ?? "")].map((letter) =>
    element("abbr", { title: cause_names.get(letter) ?? "", textContent: letter }));

  const instruction_row = (one) => {
    const share = element("td", { className: "number share", title: `95 %: ${range(one)}` },
      one.time_ns > 0 ? percent(one.share) : "");
    share.style.setProperty("--share", `${100 * one.share}%`);
    const row = element("tr", {}, share,
      element("td", { className: "number" }, one.samples > 0 ? grouped(one.samples) : ""),
      element("td", { className: "number" }, one.time_ns > 0 ? each(one.ns_each) : ""),
      element("td", {}, ...(one.share >= 0.005 ? letters(one.culprits) : [])),
      element("td", { className: "number dim" }, one.address.toString(16)),
      element("td", {}, one.text), element("td", { className: "dim" }, one.line ?? ""));
    row.instruction = one;
    return row;
  };

  const source_row = (one) => element("tr", { className: "source" },
    element("td", { colSpan: COLUMNS - 2 }), element("td", { colSpan: 2 }, one.source));

  class Part {
    constructor(part) {
      this.part = part;
      const entered = part.calls === undefined ? "" : `, entered ${times(part.calls)} times in the counted run`;
      this.svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      this.head = element("thead", {}, element("tr", {},
        ...["time %", "samples", UNIT, "why", "at", "instruction", "line"].map((text, number) =>
          element("th", { scope: "col", className: number < 3 ? "number" : "", textContent: text }))));
      this.table = element("table", { className: "listing" }, this.head);
      this.box = element("div", { className: "code" }, this.svg, this.table);
      this.element = element("section", {},
        element("h3", {}, `from 0x${part.low.toString(16)} to 0x${part.high.toString(16)}${entered}`), this.box);
    }

    is_shown(block) { return block.share >= state.cutoff || block === this.opened; }

    facts(block) {
      if (block.executions === undefined) return "";
      if (block.executions === 0) return ", not executed in the counted run";
      const often = `, ${times(block.executions / this.part.calls)} × a call`;
      if (block.ns_each === undefined) return often;
      const cpi = calc.ghz ? `, CPI ${times(block.ns_each * calc.ghz / block.instructions.length)}` : "";
      return `${often}, ${each(block.ns_each)} ${UNIT}${cpi}`;
    }

    successors(number) {
      const edges = this.part.edges.filter(({ from }) => from === number);
      const all = edges.reduce((sum, { passes }) => sum + (passes ?? 0), 0);
      const share = ({ passes }) => (all > 0 && edges.length > 1 ? ` (${percent(passes / all)})` : "");
      return edges.flatMap((edge, index) => {
        const comma = index === 0 ? ", to " : ", ";
        if (edge.to === null) return [`${comma}outside${share(edge)}`];
        const button = element("button", { type: "button", textContent: String(edge.to + 1) });
        button.addEventListener("click", () => this.go_to(edge.to));
        return [comma, button, share(edge)];
      });
    }

    block_body(block, number) {
      const body = element("tbody", {}, element("tr", { className: "block" },
        element("th", { colSpan: COLUMNS, scope: "rowgroup" }, `block ${number + 1}: ${range(block)}`,
          this.facts(block), ...this.successors(number))));
      let line = "";
      for (const one of block.instructions) {
        if (state.source && one.source && one.line !== line) body.append(source_row(one));
        line = one.line;
        body.append(instruction_row(one));
      }
      body.addEventListener("pointerenter", () => causal.arcs.mark(this.svg, number));
      body.addEventListener("pointerleave", () => causal.arcs.mark(this.svg, -1));
      return body;
    }

    // Blocks between those that are shown.
    gap_body(first, blocks) {
      const share = blocks.reduce((sum, block) => sum + block.share, 0);
      const what = blocks.length === 1 ? `block ${first + 1}` : `blocks ${first + 1} to ${first + blocks.length}`;
      return element("tbody", {}, element("tr", {},
        element("td", { colSpan: COLUMNS, className: "dim" }, `… ${what}: ${percent(share)}`)));
    }

    draw() {
      const { blocks } = this.part;
      this.bodies = [];
      const bodies = [];
      for (let i = 0; i < blocks.length;) {
        let next = i + 1;
        const shown = this.is_shown(blocks[i]);
        while (!shown && next < blocks.length && !this.is_shown(blocks[next])) ++next;
        const body = shown ? this.block_body(blocks[i], i) : this.gap_body(i, blocks.slice(i, next));
        bodies.push(body);
        for (; i < next; ++i) this.bodies[i] = body;
      }
      this.table.replaceChildren(this.head, ...bodies);
      this.draw_arcs();
    }

    draw_arcs() {
      const middle = (row) => row.offsetTop + row.offsetHeight / 2;
      const start = (block) => middle(this.bodies[block].lastElementChild);
      const end = (block) => middle(this.bodies[block].firstElementChild);
      const draw_at = () => {
        const margin = `${causal.arcs.draw(this.svg, this.part.edges, start, end) + 4}px`;
        const is_same = this.table.style.marginLeft === margin;
        this.table.style.marginLeft = margin;
        return is_same;
      };
      if (!draw_at()) draw_at(); // lines of the source may wrap elsewhere now
      this.svg.setAttribute("height", this.table.offsetHeight);
    }

    go_to(number) {
      const block = this.part.blocks[number];
      if (!this.is_shown(block)) {
        this.opened = block;
        this.draw();
      }
      mark(this.bodies[number].firstElementChild);
    }
  }

  const parts = calc.parts.map((part) => new Part(part));

  const mark = (row) => {
    for (const found of document.querySelectorAll("tr.found")) found.classList.remove("found");
    row.classList.add("found");
    row.scrollIntoView({ block: "center" });
  };

  const draw = () => {
    for (const part of parts) part.draw();
    state.next = 0;
    const blocks = calc.parts.flatMap((part) => part.blocks);
    const shown = blocks.filter(({ share }) => share >= state.cutoff);
    const share = shown.reduce((sum, block) => sum + block.share, 0);
    at("told").textContent =
      `${shown.length} of ${blocks.length} blocks are shown, with ${percent(share)} of the function's time`;
  };

  const go_to_next = () => {
    const rows = [...document.querySelectorAll(".listing tr")].filter((row) => row.instruction?.time_ns > 0)
      .sort((a, b) => b.instruction.share - a.instruction.share);
    if (rows.length === 0) return;
    mark(rows[state.next % rows.length]);
    state.next += 1;
  };

  show_why();
  at("parts").append(...parts.map((part) => part.element));
  causal.choices(at("cutoff"), CUTOFFS, (value) => {
    state.cutoff = Number(value);
    for (const part of parts) part.opened = undefined;
    draw();
  });
  causal.themes(at("theme"));
  at("source-choice").hidden = !calc.parts.some((part) => part.blocks.some((block) =>
    block.instructions.some((one) => one.source)));
  at("source").addEventListener("change", (event) => {
    state.source = event.target.checked;
    draw();
  });
  at("next").addEventListener("click", go_to_next);
  document.addEventListener("keydown", (event) => {
    const is_typing = event.target.matches?.("input:not([type=checkbox]), select");
    if (event.key === "n" && !is_typing && !event.ctrlKey && !event.metaKey && !event.altKey) go_to_next();
  });
  addEventListener("resize", causal.later(() => parts.forEach((part) => part.draw_arcs()), 100));
  draw();
})();
