// A program that is in a library, as python3 is: its main() only calls it.
int launched_main(int argc, char** argv);

int main(int argc, char** argv) { return launched_main(argc, argv); }
