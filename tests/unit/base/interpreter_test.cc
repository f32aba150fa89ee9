#include "controller/base/interpreter.h"

#include <catch2/catch.hpp>

namespace causalctl {

TEST_CASE("interpreters are known by their files", "[base]") {
  const auto language = [](const char* path) {
    const auto found = interpreter_of(path);
    return found ? found->language : "";
  };
  CHECK(language("/usr/bin/python3.11") == "Python 3.11");
  CHECK(language("/usr/bin/python3") == "Python 3");
  CHECK(language("/opt/lib/libpython3.12.so.1.0") == "Python 3.12");
  CHECK(language("/usr/bin/python3.11 (deleted)") == "Python 3.11");
  CHECK(language("/usr/bin/node") == "JavaScript");
  CHECK(language("/usr/lib/x86_64-linux-gnu/libnode.so.108") == "JavaScript");
  CHECK(language("/usr/lib/jvm/java-17/lib/server/libjvm.so") == "Java");
  CHECK(language("/usr/lib/libruby-3.1.so.3.1") == "Ruby");
  CHECK(language("/usr/sbin/php-fpm8.2") == "PHP");
  CHECK(language("/usr/bin/perl") == "Perl");
  for (const char* other : {"/usr/bin/nodemon", "/usr/bin/pythonic", "/usr/bin/rubygems-proxy",
                            "/usr/sbin/nginx", "/lib/libc.so.6", "/usr/bin/perlbench_r", ""}) {
    INFO(other);
    CHECK(language(other).empty());
  }
}

TEST_CASE("what gives functions names is told by version", "[base]") {
  CHECK_FALSE(interpreter_of("/usr/bin/python3.11")->compiles);
  CHECK(interpreter_of("/usr/bin/python3.12")->compiles);
  CHECK(InterpreterRemark("/usr/bin/python3.11").words() ==
        "python3.11 runs Python 3.11: functions here are its own, not those of the script. python3 "
        "-X perf, from 3.12 on, names the functions of the script.");
  CHECK(InterpreterRemark("/usr/bin/nginx").words().empty());
}

TEST_CASE("an interpreter whose code has names needs no remark", "[base]") {
  InterpreterRemark remark("/lib/libjvm.so");
  remark.see("[anonymous in java]", "[anonymous in java]");  // without a name
  CHECK_FALSE(remark.words().empty());
  remark.see("[anonymous in java]", "int Loop.work(int)");
  CHECK(remark.words().empty());
  // This one cannot have any.
  InterpreterRemark python("/usr/bin/python3.11");
  python.see("[anonymous]", "trampoline");
  CHECK_FALSE(python.words().empty());
}

TEST_CASE("a program called node is an interpreter if it has code of V8", "[base]") {
  InterpreterRemark remark("/opt/chain/bin/node");
  remark.see("/opt/chain/bin/node", "consensus::vote");
  CHECK(remark.words().empty());
  remark.see("/opt/chain/bin/node", "v8::internal::Invoke");
  CHECK_FALSE(remark.words().empty());
}

}  // namespace causalctl
