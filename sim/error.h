// SPDX-License-Identifier: Apache-2.0
// The one exception inside the harness; the C interface turns it into a code and a line of text.
#pragma once

#include <stdexcept>
#include <string>

#include "headrace.h"

namespace headrace {

class Error : public std::runtime_error {
 public:
  Error(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

}  // namespace headrace
