// SPDX-License-Identifier: Apache-2.0
// The KEY=VALUE,... part of a link.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>

namespace headrace {

class LinkSettings {
 public:
  // `kind` is the link's, for messages. Throws Error when an item is not KEY=VALUE or a key is not one of `known`.
  LinkSettings(std::string kind, const std::string& text, std::initializer_list<const char*> known);

  bool has(const std::string& key) const { return values_.contains(key); }
  std::string text(const std::string& key, const std::string& otherwise = "") const;
  // Throws Error when the value is not a number from `least` to `most`.
  std::optional<uint64_t> number(const std::string& key, uint64_t least, uint64_t most) const;
  uint64_t number(const std::string& key, const std::string& value, uint64_t least, uint64_t most) const;
  [[noreturn]] void refuse(const std::string& key, const std::string& wanted) const;

 private:
  std::string kind_;
  std::map<std::string, std::string> values_;
};

// A link to a network interface: NAME[,KEY=VALUE...].
struct InterfaceLink {
  // Throws Error when there is no name, one that is too long, or an unknown key.
  InterfaceLink(const std::string& kind, const std::string& argument, std::initializer_list<const char*> known);

  std::string name;
  std::string shown;  // "kind:NAME", for messages
  LinkSettings settings;
};

}  // namespace headrace
