// Recognizes by their files the programs that run code of another language. Pure.
//
// A profile of native code shows such a program's own functions. The code that it runs has names
// only where the program tells them, in a perf map (docs/languages.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace causalctl {

struct Interpreter {
  std::string language;          // "Python 3.11"
  std::string advice;            // a sentence: what gives the language's own functions names
  bool compiles = false;         // to machine code, which has names once there is a perf map
  std::string_view marker = {};  // if the file's name says little: part of names of its functions
};

// `path` is that of an executable or a library. Returns nullopt if it is no interpreter.
std::optional<Interpreter> interpreter_of(std::string_view path);

// Tells whose functions a report shows. It is shown all of them.
class InterpreterRemark {
 public:
  explicit InterpreterRemark(std::string_view path);  // of the executable, or of a library

  bool is_interpreter() const { return found_.has_value(); }
  // `module` is a path, or what stands in place of one for code in no file.
  void see(std::string_view module, std::string_view function);
  // "python3.11 runs Python 3.11: functions here are its own, not those of the script. …" Empty if
  // it is no interpreter, or if the code that it runs has names.
  std::string words() const;

 private:
  std::string name_;
  std::optional<Interpreter> found_;
  bool has_marker_ = false;
  bool has_names_ = false;
};

}  // namespace causalctl
