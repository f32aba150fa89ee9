// What the page tells of calls, which `calls` of its data has (controller/report/callpath/html.h): bounds of
// how many different calls the samples have seen.
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
    const { at_least, at_most } = data.calls ?? { at_least: -1, at_most: -1 };
    Object.assign(this, { at_least, at_most });
  }

  // Whether a column is one of these bounds.
  has(column) {
    return column >= 0 && (column === this.at_least || column === this.at_most);
  }

  // What the widths of frames mean.
  static meaning(from_callees) {
    return from_callees
      ? "Width: different calls that the samples have seen for certain, of each function, and by which callers."
      : "Width: different calls that the samples have seen for certain, of the function and of all that it calls.";
  }

  // Which calls are missing in what the table tells.
  static notes() {
    return "The bounds are of calls that samples have seen: those that begin and end between two samples are in neither.";
  }
};
