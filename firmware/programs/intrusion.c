// SPDX-License-Identifier: Apache-2.0
// Looks for patterns in what TCP, UDP and other packets over IPv4 and IPv6 carry, with up to two VLAN tags: a packet in
// which one is found goes to the host, and all others to the other port. accel_matcher searches, up to 8 packets at the
// same time; with -D SOFTWARE it is the core, with a table as in firewall_software.c: c_table("matcher_words",
// matcher_words(patterns)).
// DEBUG_OUT: matches, and packets that went to the host. The host reads the newest matches from `alerts`; where it has
// set `waits`, the unit makes none more than the host has not read.
#include "headrace.h"
#include "packet_headers.h"
#include "matcher.h"

#define ALERTS 64 // a power of two
#define ETH_TYPE_SERVICE_VLAN 0xA888
#define IPV6_HOP_BY_HOP       0
#define IPV6_ROUTING          43
#define IPV6_FRAGMENT         44
#define IPV6_AUTHENTICATION   51
#define IPV6_DESTINATION      60

struct packet {
  unsigned int low, high; // of its descriptor
  unsigned int found;     // matches
};

struct {
  unsigned int count; // of all there were; the newest is alerts.ring[(count - 1) % ALERTS]
  struct {
    unsigned int pattern;  // its place in the loaded ones, from 1
    unsigned int position; // bytes of what was searched, up to the match's end
    unsigned int length;   // of the packet
    unsigned int time;     // in units of 4 ns
  } ring[ALERTS];
} alerts;

volatile struct {
  unsigned int waits;
  unsigned int taken; // of alerts.count: the host has read them
} alerts_host;

static unsigned int suspicious;

static __attribute__((noinline)) void alert(struct packet *packet, unsigned int pattern, unsigned int position) {
  while (alerts_host.waits && alerts.count - alerts_host.taken >= ALERTS) {
  }
  unsigned int place = alerts.count & (ALERTS - 1);
  alerts.ring[place].pattern = pattern;
  alerts.ring[place].position = position;
  alerts.ring[place].length = desc_len(packet->low);
  alerts.ring[place].time = read_timer_low();
  packet->found++;
  DEBUG_OUT_L = ++alerts.count;
}

static inline void finish(const struct packet *packet) {
  unsigned int low = packet->low ^ DESC_PORT(1);
  if (__builtin_expect(packet->found != 0, 0)) {
    low = (packet->low & 0x00FFFFFFu) | DESC_PORT(PORT_HOST);
    DEBUG_OUT_H = ++suspicious;
  }
  SEND_LOW = low;
  SEND_HIGH_GO = packet->high;
}

struct part {
  unsigned int from, length;
};

// Where what is behind a transport's header begins, which begins itself at `from`
static inline unsigned int behind_transport(const unsigned char *header, unsigned int protocol, unsigned int from,
                                            unsigned int length) {
  if (protocol == IP_PROTO_UDP) return from + UDP_HEADER_SIZE;
  if (protocol != IP_PROTO_TCP) return from;
  if (from + TCP_HEADER_SIZE > length) return length;
  return from + (header[from + 12] & 0xF0u) / 4;
}

static inline struct part rest(unsigned int from, unsigned int length) {
  const struct part nothing = {0, 0};
  if (from >= length) return nothing;
  return (struct part){from, length - from};
}

// Extension headers are gone through; behind the first fragment's there is no transport's header.
static __attribute__((noinline)) struct part behind_ipv6(const unsigned char *packet, unsigned int from,
                                                         unsigned int length) {
  const struct ipv6_header *ip = (const struct ipv6_header *)(packet + from);
  if (from + IPV6_HEADER_SIZE > length) return rest(length, length);
  unsigned int protocol = ip->next_header;
  from += IPV6_HEADER_SIZE;
  if (length <= 72) { // it may be padded
    unsigned int end = from + load_be16(&ip->payload_length);
    if (end < length) length = end;
  }
  while (from + 8 <= length) {
    const unsigned char *extension = packet + from;
    if (protocol == IPV6_FRAGMENT) {
      from += 8;
      if (load_be16(extension + 2) & 0xFFF8) return rest(from, length);
    } else if (protocol == IPV6_HOP_BY_HOP || protocol == IPV6_ROUTING || protocol == IPV6_DESTINATION) {
      from += (extension[1] + 1u) * 8;
    } else if (protocol == IPV6_AUTHENTICATION) {
      from += (extension[1] + 2u) * 4;
    } else {
      break;
    }
    protocol = *extension;
  }
  return rest(behind_transport(packet, protocol, from, length), length);
}

// What of a packet is searched: that behind the headers, without padding; nothing of what is neither IPv4 nor IPv6.
// `header` is a copy of the packet's first 126 bytes.
static inline struct part payload_of(const unsigned char *header, const unsigned char *packet, unsigned int length) {
  const struct part nothing = {0, 0};
  unsigned int from = ETH_HEADER_SIZE;
  unsigned short type = *(const unsigned short *)(header + 12);
  if (__builtin_expect(type != ETH_TYPE_IPV4, 0)) {
    for (unsigned int tags = 0; tags < 2 && type != ETH_TYPE_IPV4 && type != ETH_TYPE_IPV6; tags++) {
      if (type != ETH_TYPE_VLAN && type != ETH_TYPE_SERVICE_VLAN) return nothing;
      from += VLAN_HEADER_SIZE;
      type = *(const unsigned short *)(header + from - 2);
    }
    if (type == ETH_TYPE_IPV6) return behind_ipv6(packet, from, length);
    if (type != ETH_TYPE_IPV4) return nothing;
  }
  const struct ipv4_header *ip = (const struct ipv4_header *)(header + from);
  if (length <= 72) { // it may be padded
    unsigned int end = from + load_be16(&ip->total_length);
    if (end < length) length = end;
  }
  if (ip->version_ihl != 0x45) header = packet; // options: the copy may be too short
  from += (ip->version_ihl & 15u) * 4;
  if (!(ip->flags_fragment_offset & bswap_16(0x1FFF))) from = behind_transport(header, ip->protocol, from, length);
  return rest(from, length);
}

#ifdef SOFTWARE
extern const uint32_t matcher_words[][2] __attribute__((section(".pmem.words")));
#ifdef TABLE
#include TABLE
#else
const uint32_t matcher_words[][2] = {{0x20000, 0}};
#endif

IN_PACKET_MEMORY struct matcher matcher;

static void report(void *context, uint32_t pattern, uint32_t position) {
  alert((struct packet *)context, pattern, position);
}

static void load(void) {
  for (unsigned int i = 0; i < sizeof matcher_words / sizeof *matcher_words; i++)
    matcher_load(&matcher, matcher_words[i][0], matcher_words[i][1]);
}

static void __attribute__((noreturn)) inspect(void) {
  while (1) {
    struct packet packet = {.low = headrace_wait()};
    packet.high = RECV_HIGH_POP;
    RPU_BARRIER();
    const unsigned char *data = (const unsigned char *)packet.high;
    struct part part = payload_of(data, data, desc_len(packet.low));
    matcher_run(&matcher, (const void *)(packet.high + part.from), part.length, report, &packet);
    finish(&packet);
  }
}
#else
#define MATCHER_STATUS    (*((volatile unsigned char *)(IO_EXT_BASE + 0x00))) // 1: an entry waits
#define MATCHER_ADDR      (*((volatile unsigned int *)(IO_EXT_BASE + 0x08)))
#define MATCHER_ENTRY     (*((volatile unsigned int *)(IO_EXT_BASE + 0x24)))
#define MATCHER_LEN_START (*((volatile unsigned int *)(IO_EXT_BASE + 0x2C)))
#define JOBS 8

static void load(void) {} // the host does

// All packets go through the accelerator, those with nothing to search too: they stay in order.
static void __attribute__((noreturn)) inspect(void) {
  static struct packet packets[JOBS], *const end = packets + JOBS;
  struct packet *newest = packets, *oldest = packets; // the next one to begin with, and to finish
  unsigned int started = 0;
  while (1) {
    unsigned int low = RECV_LOW;
    if (low != 0 && started != JOBS) {
      const unsigned char *header = (const unsigned char *)RECV_HEADER;
      unsigned int high = RECV_HIGH_POP;
      RPU_BARRIER();
      struct part part = payload_of(header, (const unsigned char *)high, desc_len(low));
      MATCHER_ADDR = high + part.from;
      MATCHER_LEN_START = part.length;
      *newest = (struct packet){low, high, 0};
      if (++newest == end) newest = packets;
      started++;
    } else if (started != 0 && MATCHER_STATUS != 0) {
      unsigned int entry = MATCHER_ENTRY;
      unsigned int pattern = desc_len(entry); // its lower half
      if (pattern != 0) {
        alert(oldest, pattern, entry >> 16);
        continue;
      }
      finish(oldest);
      if (++oldest == end) oldest = packets;
      started--;
    }
  }
}
#endif

int main(void) {
  load();
  headrace_slots(32, 2);
  set_masks(FLAG_EVICT | FLAG_POKE);
  inspect();
}
