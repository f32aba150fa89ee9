// A plot of several series over each other: points, a line and its band, on linear or logarithmic axes.
"use strict";

causal.plot = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const LEFT = 64;
  const RIGHT = 34;
  const TOP = 22;
  const BOTTOM = 34;
  const SIZE = 4; // of a point
  const FEW_DECADES = 2;

  const drawn = (tag, properties, text = "") => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  };

  // Shapes tell the series apart without colour.
  const SHAPES = [
    (x, y) => `M${x - SIZE} ${y}a${SIZE} ${SIZE} 0 1 0 ${2 * SIZE} 0a${SIZE} ${SIZE} 0 1 0 ${-2 * SIZE} 0z`,
    (x, y) => `M${x - SIZE} ${y - SIZE}h${2 * SIZE}v${2 * SIZE}h${-2 * SIZE}z`,
    (x, y) => `M${x} ${y - SIZE - 1}l${SIZE + 1} ${2 * SIZE}h${-2 * SIZE - 2}z`,
    (x, y) => `M${x} ${y - SIZE - 1}l${SIZE + 1} ${SIZE + 1}l${-SIZE - 1} ${SIZE + 1}l${-SIZE - 1} ${-SIZE - 1}z`,
    (x, y) => `M${x} ${y + SIZE + 1}l${SIZE + 1} ${-2 * SIZE}h${-2 * SIZE - 2}z`,
    (x, y) => `M${x - SIZE} ${y - 1}h${2 * SIZE}v2h${-2 * SIZE}zM${x - 1} ${y - SIZE}v${2 * SIZE}h2v${-2 * SIZE}z`,
  ];
  const MARKS = ["●", "■", "▲", "◆", "▼", "✚"];

  const logarithmic_ticks = (low, high) => {
    const first = Math.floor(Math.log10(low));
    const decades = Math.ceil(Math.log10(high)) - first;
    const steps = decades <= FEW_DECADES ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.ceil(decades / 8));
    const ticks = [];
    for (let power = first; power <= first + decades; power += every) {
      ticks.push(...steps.map((step) => step * 10 ** power));
    }
    return ticks;
  };

  const linear_ticks = (low, high) => {
    const rough = (high - low || 1) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((each) => each * power >= rough);
    const ticks = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(at);
    return ticks;
  };

  // Returns what maps a value to pixels, and the ticks. Values that a logarithmic axis has not are left out
  // before.
  const axis = (values, is_logarithmic, from, to) => {
    let low = values.reduce((a, b) => Math.min(a, b), Infinity);
    let high = values.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!is_logarithmic) low = Math.min(0, low);
    if (low === high) [low, high] = is_logarithmic ? [low / 2, high * 2] : [low - 1, high + 1];
    const scaled = is_logarithmic ? Math.log : (value) => value;
    const at = (value) => from + (to - from) * (scaled(value) - scaled(low)) / (scaled(high) - scaled(low));
    const ticks = (is_logarithmic ? logarithmic_ticks : linear_ticks)(low, high);
    return { at, low, high, ticks: ticks.filter((tick) => tick >= low && tick <= high) };
  };

  const words = (value) => {
    if (value >= 1e6) return value.toExponential(value === 10 ** Math.round(Math.log10(value)) ? 0 : 1).replace("+", "");
    return value >= 1 ? causal.grouped(value) : causal.three(value);
  };

  const frame = (x, y, x_name, y_name, width, height) => {
    const parts = [];
    for (const tick of x.ticks) {
      parts.push(drawn("line", { class: "grid", x1: x.at(tick), x2: x.at(tick), y1: TOP, y2: height - BOTTOM }),
        drawn("text", { x: x.at(tick), y: height - BOTTOM + 14, "text-anchor": "middle" }, words(tick)));
    }
    for (const tick of y.ticks) {
      parts.push(drawn("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y.at(tick), y2: y.at(tick) }),
        drawn("text", { x: LEFT - 6, y: y.at(tick) + 4, "text-anchor": "end" }, words(tick)));
    }
    parts.push(drawn("text", { x: width - RIGHT, y: height - 5, "text-anchor": "end" }, x_name),
      drawn("text", { x: 6, y: 13 }, y_name));
    return parts;
  };

  // The band and the line of a series within the frame.
  const curve = ({ line, css }, x, y) => {
    const within = (value) => Math.min(y.high, Math.max(y.low, value));
    const path = (points) => points.map(([size, cost]) => `${x.at(size).toFixed(1)} ${y.at(within(cost)).toFixed(1)}`).join("L");
    const seen = line.filter(([size, cost, low, high]) => size >= x.low && size <= x.high && cost !== null && low !== null && high !== null);
    if (seen.length < 2) return [];
    const band = [...seen.map(([size, , , high]) => [size, high]), ...seen.map(([size, , low]) => [size, low]).reverse()];
    return [drawn("path", { class: `band ${css}`, d: `M${path(band)}z` }),
      drawn("path", { class: `line ${css}`, d: `M${path(seen.map(([size, cost]) => [size, cost]))}` })];
  };

  // Draws into `svg`. A series is {css, shape (a number), points: [{x, y, text}], line: [[x, y, low, high]]};
  // `told(text)` gets the text of the point that is pointed at or reached by an arrow key.
  const draw = (svg, { series, x_name, y_name, is_logarithmic, told }) => {
    const width = svg.clientWidth || 600;
    const height = svg.clientHeight || 320;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const shown = series.map((one) => ({
      ...one, points: one.points.filter((point) => !is_logarithmic || (point.x > 0 && point.y > 0)),
    }));
    const points = shown.flatMap((one) => one.points);
    svg.places = [];
    if (points.length === 0) {
      svg.replaceChildren(drawn("text", { x: LEFT, y: height / 2 }, "no size to show"));
      return;
    }
    const x = axis(points.map((point) => point.x), is_logarithmic, LEFT, width - RIGHT);
    const y = axis(points.map((point) => point.y), is_logarithmic, height - BOTTOM, TOP);
    svg.replaceChildren(...frame(x, y, x_name, y_name, width, height), ...shown.flatMap((one) => curve(one, x, y)));
    for (const one of shown) {
      svg.places.push(one.points.map((point) => {
        const mark = drawn("path", { class: `point ${one.css}`, d: SHAPES[one.shape](x.at(point.x), y.at(point.y)) });
        mark.append(drawn("title", {}, point.text));
        mark.addEventListener("pointerenter", () => told(point.text));
        svg.append(mark);
        return { mark, text: point.text };
      }));
    }
    svg.at = [0, -1];
    svg.onkeydown = (event) => move(svg, event, told);
  };

  const move = (svg, event, told) => {
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    const step = steps[event.key];
    if (!step || svg.places.length === 0) return;
    event.preventDefault();
    const [series, point] = svg.at;
    const next = (series + step[0] + svg.places.length) % svg.places.length;
    const last = svg.places[next].length - 1;
    svg.at = [next, Math.max(0, Math.min(last, point + step[1]))];
    for (const { mark } of svg.places.flat()) mark.classList.remove("on");
    const found = svg.places[next][svg.at[1]];
    if (!found) return;
    found.mark.classList.add("on");
    told(found.text);
  };

  return { draw, MARKS };
})();
