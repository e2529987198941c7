// SPDX-License-Identifier: Apache-2.0
#include "links/link_settings.h"

#include <net/if.h>

#include <algorithm>
#include <charconv>

#include "error.h"

namespace headrace {
namespace {

std::string listed(std::initializer_list<const char*> names) {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::string after_comma(const std::string& text) {
  const size_t comma = text.find(',');
  return comma == std::string::npos ? "" : text.substr(comma + 1);
}

}  // namespace

LinkSettings::LinkSettings(std::string kind, const std::string& text, std::initializer_list<const char*> known)
    : kind_(std::move(kind)) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    const size_t equals = item.find('=');
    if (equals == std::string::npos) throw Error(HR_ERROR_USAGE, kind_ + ": '" + item + "' is not KEY=VALUE");
    const std::string key = item.substr(0, equals);
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw Error(HR_ERROR_USAGE, kind_ + ": unknown key '" + key + "'; keys are " + listed(known));
    }
    values_[key] = item.substr(equals + 1);
    at = comma + 1;
  }
}

std::string LinkSettings::text(const std::string& key, const std::string& otherwise) const {
  const auto found = values_.find(key);
  return found == values_.end() ? otherwise : found->second;
}

std::optional<uint64_t> LinkSettings::number(const std::string& key, uint64_t least, uint64_t most) const {
  if (!has(key)) return std::nullopt;
  return number(key, text(key), least, most);
}

uint64_t LinkSettings::number(const std::string& key, const std::string& value, uint64_t least, uint64_t most) const {
  uint64_t result = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (status != std::errc() || end != value.data() + value.size() || result < least || result > most) {
    refuse(key, "must be a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return result;
}

void LinkSettings::refuse(const std::string& key, const std::string& wanted) const {
  throw Error(HR_ERROR_USAGE, kind_ + ": " + key + "=" + text(key) + ": " + wanted);
}

InterfaceLink::InterfaceLink(const std::string& kind, const std::string& argument,
                             std::initializer_list<const char*> known)
    : name(argument.substr(0, argument.find(','))),
      shown(kind + ":" + name),
      settings(kind, after_comma(argument), known) {
  if (name.empty() || name.size() >= IFNAMSIZ) {
    throw Error(HR_ERROR_USAGE, shown + ": an interface's name has 1 to " + std::to_string(IFNAMSIZ - 1) + " letters");
  }
}

}  // namespace headrace
