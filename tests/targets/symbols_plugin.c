// A library that symbols_target opens while it runs.
volatile int plugin_sink;

int plugin_work(int value) {
  plugin_sink = value * 3;
  return plugin_sink + 1;
}
