#include "capture.h"

#include "error.h"

namespace headrace {

void Capture::require_ethernet(const std::string& name) const {
  const int type = pcap_datalink(handle_);
  if (type == DLT_EN10MB) return;
  const char* known = pcap_datalink_val_to_name(type);
  throw Error(HR_ERROR_FILE, name + ": link type " + (known != nullptr ? known : std::to_string(type)) +
                                 " is not supported, only Ethernet (EN10MB)");
}

}  // namespace headrace
