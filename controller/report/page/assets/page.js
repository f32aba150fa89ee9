// What the scripts of all pages use: the page's data, elements, and numbers as text. Names from
// profiled programs become text nodes only, never HTML.
"use strict";

const causal = {};

// Returns what the program wrote into the page.
causal.data = () => JSON.parse(document.getElementById("data").textContent);

// Makes an element with properties and children, which are elements or texts.
causal.element = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

// A name as children of an element: lines may end after `::`, `<`, `(`, `,`, `/`, `_` and `+`.
causal.name = (text) => text.split(/(?<=::|[<(,/_+])/u)
  .flatMap((part, number) => (number === 0 ? [part] : [causal.element("wbr"), part]));

causal.percent = (fraction) => `${(100 * fraction).toFixed(1)} %`;

causal.interval = ([low, high]) => `[${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}]`;

causal.grouped = (number) => Math.round(number).toLocaleString("en-US");

// With three digits.
causal.three = (number) => String(Number(number.toPrecision(3)));

// As in the text reports: "2 min 3 s", "1.5 s", "12.5 ms".
causal.duration = (nanoseconds) => {
  const seconds = nanoseconds / 1e9;
  const { three } = causal;
  if (seconds >= 90) return `${Math.floor(Math.round(seconds) / 60)} min ${Math.round(seconds) % 60} s`;
  if (seconds >= 1) return `${seconds.toFixed(1)} s`;
  if (seconds >= 1e-3) return `${three(seconds * 1e3)} ms`;
  return nanoseconds === 0 ? "0" : `${three(seconds * 1e6)} µs`;
};

causal.value = (value, unit) => {
  if (unit === "nanoseconds") return causal.duration(value);
  return unit === "bytes" ? `${causal.grouped(value)} B` : causal.grouped(value);
};

// Fills a select element; each option is [value, text] or [value, text, whether it is disabled].
causal.choices = (select, options, changed) => {
  for (const [value, text, disabled] of options) {
    select.append(causal.element("option", { value, textContent: text, disabled: Boolean(disabled) }));
  }
  select.addEventListener("change", () => changed(select.value));
};

// Returns a function that calls `action` once the calls have ceased for a moment.
causal.later = (action, milliseconds) => {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds, ...given);
  };
};

// The theme is the system's until it is chosen.
causal.themes = (select) => {
  const themes = [["", "as the system"], ["light", "light"], ["dark", "dark"]];
  causal.choices(select, themes, (theme) => { document.documentElement.dataset.theme = theme; });
};
