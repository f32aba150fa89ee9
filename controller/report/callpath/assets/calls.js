// What the page tells of calls, which `calls` of its data has (controller/report/callpath/html.h): bounds of
// how many different calls the samples have seen, and how often those are made that were watched.
//
// A function may call another one a thousand times, so that its own number of calls is no width for a
// frame with callees. A call is therefore an event on the path that ends with the function called: `own`
// of a frame is its number of calls there, and its width is that and all calls below it. Sums of what is
// certain are certain, so widths are of "at least". "At most" counts samples times depth, and would show
// which paths are deep. With callees first, the width of a function is its number of calls, and those of
// its callers are which of them made these.
"use strict";

causal.Calls = class {
  constructor(data) {
    const { at_least, at_most, rates, longer_than_ns, without_rate } =
      data.calls ?? { at_least: -1, at_most: -1, rates: [], longer_than_ns: 0, without_rate: "" };
    Object.assign(this, { data, at_least, at_most, rates, longer_than_ns, without_rate });
    this.rates_of = new Map();  // by function, those with the most calls first
    for (const rate of [...rates].sort((a, b) => b.per_second - a.per_second)) {
      for (const number of new Set(rate.nodes.map((node) => data.places.function[data.nodes.place[node]]))) {
        this.rates_of.set(number, [...this.of_function(number), rate]);
      }
    }
  }

  // Whether a column is one of these bounds.
  has(column) {
    return column >= 0 && (column === this.at_least || column === this.at_most);
  }

  of_function(number) {
    return this.rates_of.get(number) ?? [];
  }

  // The rates of calls of which a frame of the tree from callers to callees is one.
  of_frame({ members }) {
    const nodes = new Set(members);
    return this.rates.filter((rate) => rate.nodes.some((node) => nodes.has(node)));
  }

  // With three digits, as in the text report.
  static rate(value) {
    if (value >= 100) return causal.grouped(value);
    return value.toFixed(value >= 10 ? 1 : 2);
  }

  static interval({ low, high }) {
    return `[${causal.Calls.rate(low)}, ${causal.Calls.rate(high)}]`;
  }

  static place({ caller, file, line }) {
    return line > 0 ? `${caller} (${file.split("/").pop()}:${line})` : caller;
  }

  // How long such calls last on average, or an empty text if waits were not recorded.
  static mean({ mean_ns, stopped }) {
    if (mean_ns > 0) return `mean ${causal.duration(mean_ns)} at most`;
    return stopped ? "until a thread ended" : "";
  }

  // "longer than 100 µs: 350 to 466, 1 ms: 140 to 262", as far as there may be more than this share.
  static longer({ longer, per_second }) {
    const LEAST = 0.02;
    const end = longer.findIndex(({ high }) => high < LEAST * per_second);
    const words = longer.slice(0, end < 0 ? longer.length : end).map(({ than_ns, low, high }) =>
      `${causal.duration(than_ns)}: ${causal.Calls.rate(low)} to ${causal.Calls.rate(high)}`);
    return words.length > 0 ? `longer than ${words.join(", ")}` : "";
  }

  // A rate in words, a line each.
  static lines(rate) {
    const { Calls } = causal;
    const mean = rate.mean_ns > 0
      ? `${Calls.mean(rate)} [${causal.duration(rate.mean_low_ns)}, ${causal.duration(rate.mean_high_ns)}]`
      : Calls.mean(rate);
    return [
      `${Calls.rate(rate.per_second)} ${Calls.interval(rate)} calls a second from ${Calls.place(rate)}`
        + ` last longer than ${causal.duration(rate.longer_than_ns)}`,
      mean,
      Calls.longer(rate),
    ].filter((line) => line);
  }

  // What the widths of frames mean.
  static meaning(from_callees) {
    return from_callees
      ? "Width: different calls that the samples have seen for certain, of each function, and by which callers."
      : "Width: different calls that the samples have seen for certain, of the function and of all that it calls.";
  }

  // Which calls are missing in what the table tells.
  notes() {
    const watched = this.rates.length > 0
      ? ` “A second” is how often calls are made that last longer than ${causal.duration(this.longer_than_ns)}, at one`
        + " place on one path, with its 95 % interval."
      : "";
    return `The bounds are of calls that samples have seen: those that begin and end between two samples are in neither.${
      watched}${this.without_rate ? ` ${this.without_rate}` : ""}`;
  }
};
