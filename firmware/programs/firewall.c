// SPDX-License-Identifier: Apache-2.0
// Drops IPv4 packets, with up to two VLAN tags, whose source address accel_blacklist has in its table. All others go to
// the other port; -D DROP_OTHERS drops what isn't IPv4.
// DEBUG_OUT_L: packets dropped for their address; DEBUG_OUT_H: others dropped.
#include "headrace.h"
#include "packet_headers.h"

#define BLACKLIST_ADDRESS (*((volatile unsigned int *)(IO_EXT_BASE + 0x00)))
#define BLACKLIST_VERDICT (*((volatile unsigned int *)(IO_EXT_BASE + 0x04)))

#define ETH_TYPE_SERVICE_VLAN 0xA888

struct packet {
  unsigned int low, high;
};

static inline unsigned short type_of(const unsigned char *header) { return *(const unsigned short *)(header + 12); }
static inline unsigned int source_of(const unsigned char *header) { return *(const unsigned int *)(header + 26); }

// Without a branch: a wrongly predicted one costs more. `verdict`: 1 to drop the packet, 0 to send it
static inline void send(struct packet packet, unsigned int verdict) {
  SEND_LOW = (packet.low ^ DESC_PORT(1)) & ((verdict - 1) | 0xFFFF0000u);
  SEND_HIGH_GO = packet.high;
}

static void send_other(struct packet packet) {
#ifdef DROP_OTHERS
  static unsigned int others_dropped;
  send(packet, 1);
  DEBUG_OUT_H = ++others_dropped;
#else
  send(packet, 0);
#endif
}

// Begins to look up the address of a packet that is IPv4 behind tags; 0 if it is something else
static __attribute__((noinline)) int begin_behind_tags(const unsigned char *header) {
  for (unsigned int tags = 0; tags < 2; tags++) {
    unsigned short type = type_of(header);
    if (type != ETH_TYPE_VLAN && type != ETH_TYPE_SERVICE_VLAN) return 0;
    header += VLAN_HEADER_SIZE;
    if (type_of(header) == ETH_TYPE_IPV4) {
      BLACKLIST_ADDRESS = source_of(header);
      return 1;
    }
  }
  return 0;
}

// Waits for a packet whose address is to be looked up, and begins with that
static __attribute__((noinline)) struct packet begin(void) {
  while (1) {
    struct packet packet = {.low = headrace_wait()};
    const unsigned char *header = (const unsigned char *)RECV_HEADER;
    packet.high = RECV_HIGH_POP;
    RPU_BARRIER();
    if (__builtin_expect(type_of(header) == ETH_TYPE_IPV4, 1)) {
      BLACKLIST_ADDRESS = source_of(header);
      return packet;
    }
    if (begin_behind_tags(header)) return packet;
    send_other(packet);
  }
}

// Sends the packet whose address is being looked up, and begins with the next one. Each access stands where it waits
// for nothing: the next packet's fields are loaded while the address is looked up, and the next lookup begins before
// the packet is sent.
static inline struct packet step(struct packet packet, unsigned int *dropped) {
  struct packet next = {.low = RECV_LOW};
  const unsigned char *header = (const unsigned char *)RECV_HEADER;
  unsigned int verdict;
  if (__builtin_expect(next.low == 0, 0)) {
    verdict = BLACKLIST_VERDICT;
    send(packet, verdict);
    DEBUG_OUT_L = *dropped += verdict;
    return begin();
  }
  next.high = RECV_HIGH_POP;
  RPU_BARRIER();
  unsigned short type = type_of(header);
  unsigned int source = source_of(header);
  verdict = BLACKLIST_VERDICT;
  if (__builtin_expect(type != ETH_TYPE_IPV4, 0)) {
    send(packet, verdict);
    DEBUG_OUT_L = *dropped += verdict;
    if (begin_behind_tags(header)) return next;
    send_other(next);
    return begin();
  }
  BLACKLIST_ADDRESS = source;
  send(packet, verdict);
  DEBUG_OUT_L = *dropped += verdict;
  return next;
}

int main(void) {
  headrace_slots(32, 2);
  set_masks(FLAG_EVICT | FLAG_POKE);
  unsigned int dropped = 0;
  struct packet packet = begin();
  while (1) packet = step(step(packet, &dropped), &dropped);
}
