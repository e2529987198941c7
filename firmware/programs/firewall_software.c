// SPDX-License-Identifier: Apache-2.0
// firewall.c without an accelerator: the table lies in packet memory and is searched by the core. It is made of a list
// of prefixes with headrace.cards.rpu.tables: c_table("blacklist_words", blacklist_words(prefixes)), written to a file
// that -D TABLE='"FILE"' names. One that is made for fewer than 2,048 prefixes wants -D BLACKLIST_CAPACITY=N.
#include "headrace.h"
#include "packet_headers.h"
#include "blacklist.h"

extern const uint32_t blacklist_words[][2] __attribute__((section(".pmem.words")));
#ifdef TABLE
#include TABLE
#else
const uint32_t blacklist_words[][2] = {{0x20000, 0}};
#endif

IN_PACKET_MEMORY struct blacklist blacklist;

static int wanted(const struct Desc *desc) {
  const unsigned char *packet = desc->data;
  for (unsigned int tags = 0; tags < 3; tags++, packet += VLAN_HEADER_SIZE) {
    unsigned short type = *(const unsigned short *)(packet + 12);
    if (type == ETH_TYPE_IPV4) return blacklist_find(&blacklist, *(const unsigned int *)(packet + 26)) < 0;
    if (type != ETH_TYPE_VLAN && type != 0xA888) break;
  }
#ifdef DROP_OTHERS
  return 0;
#else
  return 1;
#endif
}

int main(void) {
  unsigned int dropped = 0;
  for (unsigned int i = 0; i < sizeof blacklist_words / sizeof *blacklist_words; i++)
    blacklist_load(&blacklist, blacklist_words[i][0], blacklist_words[i][1]);
  init_hdr_slots(16, 0x804000, 128);
  init_slots(16, 2, 16384);
  set_masks(FLAG_EVICT | FLAG_POKE);
  while (1) {
    if (in_pkt_ready()) {
      struct Desc desc;
      read_in_pkt(&desc);
      desc.port ^= 1;
      if (!wanted(&desc)) {
        desc.len = 0;
        DEBUG_OUT_L = ++dropped;
      }
      pkt_send(&desc);
    }
  }
}
