// Does nothing, but is slow to load: slow_library.c.
extern int loaded;

int main(void) { return loaded ? 0 : 1; }
