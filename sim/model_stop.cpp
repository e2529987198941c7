// What happens when the model stops itself: the run ends with an error instead of the process.
#include <verilated.h>

#include <string>

#include "error.h"

namespace {

[[noreturn]] void stop(const char* file, int line, const std::string& what) {
  const std::string place =
      file != nullptr && file[0] != '\0' ? " (" + std::string(file) + ":" + std::to_string(line) + ")" : "";
  throw headrace::Error(HR_ERROR_MODEL, "the model stopped: " + what + place);
}

}  // namespace

void vl_finish(const char* file, int line, const char*) {
  stop(file, line, "$finish");
}

void vl_stop(const char* file, int line, const char*) {
  stop(file, line, "$stop or a failed assertion");
}

void vl_fatal(const char* file, int line, const char*, const char* message) {
  stop(file, line, message);
}
