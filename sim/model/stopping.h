// SPDX-License-Identifier: Apache-2.0
// What happens when Verilated code stops itself: the run ends with an error instead of the process. For the one file of
// each library that defines Verilator's hooks.
#pragma once

#include <verilated.h>

#include <stdexcept>
#include <string>

namespace headrace {

// Thrown where a model stops itself.
class Stopped : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void stop(const char* file, int line, const std::string& what) {
  const std::string place =
      file != nullptr && file[0] != '\0' ? " (" + std::string(file) + ":" + std::to_string(line) + ")" : "";
  throw Stopped("the model stopped: " + what + place);
}

// Runs an action; gives nullptr or, kept in `stopped`, why it stopped.
template <class Action>
const char* guarded(std::string& stopped, Action&& action) {
  try {
    action();
    return nullptr;
  } catch (const std::exception& error) {
    stopped = error.what();
    return stopped.c_str();
  }
}

}  // namespace headrace

void vl_finish(const char* file, int line, const char*) {
  headrace::stop(file, line, "$finish");
}

void vl_stop(const char* file, int line, const char*) {
  headrace::stop(file, line, "$stop or a failed assertion");
}

void vl_fatal(const char* file, int line, const char*, const char* message) {
  headrace::stop(file, line, message);
}
