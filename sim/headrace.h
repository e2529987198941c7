// SPDX-License-Identifier: Apache-2.0
/* The C interface of virtual cards. This library is the harness; each model of a card is a library of its own, and any
 * number of cards of any kind live in one process.
 *
 * Every function that returns int gives HR_OK or a negative error code, and hr_error() then says in one line what went
 * wrong. A card is used by one thread at a time: a call while another thread is inside is refused, with
 * HR_ERROR_THREAD. After HR_ERROR_MODEL, HR_ERROR_PROTOCOL or HR_ERROR_INTERNAL the card is broken: what it has can be
 * taken out and its files can be finished, all else is refused with the same error.
 *
 * Python reads this file with cffi: outside the lines that begin with #, plain declarations only.
 */
#ifndef HEADRACE_H
#define HEADRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum {
  HR_OK = 0,
  HR_ERROR_USAGE = -1,    /* an argument is wrong */
  HR_ERROR_FILE = -2,     /* a file can't be opened, read or written */
  HR_ERROR_CAPTURE = -3,  /* a capture is broken; everything before the fault has been handled */
  HR_ERROR_HANG = -4,     /* the card is busy without getting anything done */
  HR_ERROR_BUS = -5,      /* a register access was refused or not answered */
  HR_ERROR_PROTOCOL = -6, /* the card broke a bus protocol */
  HR_ERROR_MODEL = -7,    /* the model stopped: $fatal, $stop, a failed assertion, no convergence */
  HR_ERROR_INTERNAL = -8, /* the harness failed: there is no memory, or it has a fault */
  HR_ERROR_THREAD = -9    /* another thread is inside a call for the same card */
};

/* Of a frame that hr_send() queues. */
enum {
  HR_FRAME_BAD_FCS = 1,
  HR_FRAME_CUT = 2 /* a capture had cut it, and its wire_length counts; otherwise it is as long as it is */
};

enum { HR_TIMING_LINE = 0, HR_TIMING_RECORDED = 1, HR_TIMING_RATE = 2 };
enum { HR_FORMAT_PCAP = 0, HR_FORMAT_PCAPNG = 1 };
enum { HR_TIMESTAMPS_RECORDED = 0, HR_TIMESTAMPS_CARD = 1, HR_TIMESTAMPS_KEPT = 2 }; /* KEPT: of a writer only */
enum { HR_PRECISION_MICRO = 0, HR_PRECISION_NANO = 1 };

/* Why hr_run() came back. */
enum {
  HR_STOP_IDLE = 0,      /* sources at their end, card idle, MACs drained */
  HR_STOP_CYCLES = 1,    /* the limit of cycles or card time */
  HR_STOP_PACKETS = 2,   /* the limit of packets, of the run or of a sink */
  HR_STOP_SLICE = 3,     /* the slice of wall time is over, or a source has nothing yet: call again */
  HR_STOP_INTERRUPT = 4, /* an interrupt waits */
  HR_STOP_ASKED = 5      /* one of the descriptors can be read */
};

/* Why hr_write_records() came back. */
enum {
  HR_WRITER_END = 0,     /* all records are written */
  HR_WRITER_PACKETS = 1, /* the limit of packets */
  HR_WRITER_TIME = 2,    /* the next record is too late for this file */
  HR_WRITER_SIZE = 3     /* the file has its size */
};

enum {
  HR_MEMORY_READ_LATENCY_NS = 0,  /* from the address to the first beat of data */
  HR_MEMORY_WRITE_LATENCY_NS = 1, /* from the last beat of data to the response */
  HR_MEMORY_READ_BITS_PER_S = 2,  /* 0: a beat each cycle */
  HR_MEMORY_WRITE_BITS_PER_S = 3, /* 0: a beat each cycle */
  HR_MEMORY_READS = 4,            /* outstanding bursts */
  HR_MEMORY_WRITES = 5,           /* outstanding bursts */
  HR_MEMORY_OUT_OF_ORDER = 6,     /* 0: in order; otherwise the seed of the order between IDs */
  HR_MEMORY_STALLS = 7,           /* 0: none; otherwise the seed of stalls on all channels, half of all cycles */
  HR_MEMORY_WRITE_WAITS = 8,      /* cycles for which the first data of each write burst wait */
  HR_OPTION_SKIP_IDLE = 16,       /* 0: evaluate every cycle */
  HR_OPTION_HANG_LIMIT_US = 17,   /* of card time without progress; 0: none */
  HR_OPTION_TIME_NS = 18,         /* sets the card's clock, as PTP does */
  HR_OPTION_IRQ_READY = 19        /* 0: the host takes no interrupts */
};

typedef struct hr_card hr_card;
typedef struct hr_writer hr_writer;
typedef struct hr_coordinator hr_coordinator;

typedef struct {
  uint32_t ports;
  uint32_t data_bits;
  uint32_t memory_bits;
  uint32_t address_bits; /* of registers */
  uint32_t user_bits;    /* of the card's own beside a frame that it sends, above tx_meta_t */
  uint32_t traceable;
} hr_info;

typedef struct {
  uint32_t port;
  const char* link;    /* "pcap:FILE", "gen:SPEC", "port:N", "queue" for hr_send(), "null", or a live one: "iface:NAME",
                          "xdp:NAME", "tap:NAME", each with settings ",KEY=VALUE" */
  uint32_t timing;     /* HR_TIMING_...; live links know no HR_TIMING_LINE, it is HR_TIMING_RECORDED for them */
  uint64_t bits_per_s; /* for HR_TIMING_RATE, with preambles and gaps counted in */
  uint64_t packets;    /* at most so many, then the source is at its end; 0: no limit */
} hr_source;

typedef struct {
  uint32_t port;
  const char* link;           /* "pcap:FILE", "tap:NAME", "null", "memory" */
  int32_t select;             /* of the card's own bits: only frames that have this one; -1: all frames */
  int32_t length_at;          /* where among them 32 bits say how much of a frame is kept at most; -1: nowhere */
  uint32_t snap_length;       /* bytes of a frame kept at most; 0: all */
  uint32_t timestamps;        /* HR_TIMESTAMPS_... */
  uint32_t format;            /* HR_FORMAT_... */
  uint32_t precision;         /* HR_PRECISION_..., of pcap; pcapng always has ns */
  uint32_t snapshot;          /* snapshot length in the file's header; 0: as in the captures read, or 262144 */
  const char* interface_name; /* of pcapng; NULL: an interface for each port, port0 and so on */
  const char* filter;         /* of pcapng's interfaces, as the user wrote it; NULL: none */
  uint64_t packets;           /* at most so many, then the run stops; 0: no limit */
} hr_sink;

typedef struct {
  const char* link;  /* "file:NAME", "-" (standard output), "pty:" or "memory" for hr_read_console() */
  const char* input; /* "file:NAME", "-" (standard input) or NULL: a pty's, or none */
  uint32_t core;     /* that gets the input */
  uint32_t prefix;   /* 1: whole lines, each after "core N: "; not with "memory", which keeps cores apart */
} hr_console;

/* Where hr_write_records() stops before the end; 0 each: no limit. */
typedef struct {
  uint64_t packets;    /* at most so many */
  uint64_t before_ns;  /* before a record of this time or later, in ns since the epoch */
  uint64_t file_bytes; /* before a record once the file has more bytes */
  uint32_t lost;       /* packets lost before the first record (pcapng) */
  uint32_t flush;      /* 1: what is written is in the file when the call comes back */
  uint32_t longest;    /* bytes that a record has at most: one of so many may be cut */
} hr_writer_limits;

typedef struct {
  uint32_t reached; /* byte count up to which the records are written */
  uint32_t stop;    /* HR_WRITER_... */
  uint64_t packets;
  uint64_t captured_bytes; /* of these packets */
  uint64_t wire_bytes;     /* that they had on the wire */
  uint64_t file_bytes;     /* of the whole file */
  uint64_t next_ns;        /* time of the record that is not written any more, unless stop is HR_WRITER_END */
  uint64_t cut;            /* of these packets, those of limits.longest bytes that had more on the wire */
} hr_writer_result;

/* Of the packets in a file. */
typedef struct {
  uint64_t packets;
  uint64_t captured_bytes;
  uint64_t wire_bytes; /* that they had on the wire */
} hr_totals;

typedef struct {
  uint64_t cycles;          /* at most so many more; 0: no limit */
  uint64_t packets;         /* until so many more frames were received; 0: no limit */
  uint64_t until_ns;        /* until the card's clock has this time, at the latest; 0: no limit */
  uint32_t until_idle;      /* stop when everything is done; otherwise idle time passes up to the limit */
  uint32_t until_interrupt; /* stop when an interrupt waits for hr_take_irqs() */
  uint32_t slice_ms;        /* of wall time; 0: no limit */
  uint32_t asking_count;
  const int32_t* asking; /* descriptors: stop soon after one of them can be read */
} hr_run_limits;

typedef struct {
  uint64_t rx_frames;
  uint64_t rx_bytes;
  uint64_t rx_overruns;    /* frames that the card did not take in time */
  uint64_t rx_held_cycles; /* that flow control held the link off */
  uint64_t tx_frames;
  uint64_t tx_bytes;
  uint64_t tx_underruns; /* beats that came later than their time on the wire */
  uint64_t tx_errors;    /* frames sent with a bad FCS; pcap sinks leave them out */
  uint64_t tx_lost;      /* packets that the card reports lost beside its frames */
  uint64_t rx_missed;    /* frames that a live source lost before the card, for want of room */
  uint64_t rx_waiting;   /* frames that a live source is known to have for the card */
} hr_port_stats;

typedef struct {
  uint64_t read_bursts;
  uint64_t read_bytes;
  uint64_t write_bursts;
  uint64_t write_bytes;
  uint64_t errors; /* bursts answered with SLVERR or DECERR */
} hr_memory_stats;

typedef struct {
  uint32_t source;
  uint32_t destination;
  uint64_t frames;      /* that came out as they went in */
  uint64_t mismatches;  /* changed, out of order or never sent in */
  uint64_t waiting;     /* gone in and not yet come out */
  uint64_t latency_min; /* in cycles, from first beat in to first beat out */
  uint64_t latency_max;
} hr_passthrough_stats;

typedef struct {
  uint64_t cycles; /* of card time, the skipped ones too */
  uint64_t skipped_cycles;
  uint64_t time_ns; /* the card's clock */
  uint64_t clock_hz;
  uint64_t wall_ns; /* spent in hr_run() and register accesses */
  uint64_t interrupts;
  hr_memory_stats memory;
} hr_stats;

typedef struct {
  uint32_t address;
  uint32_t value;
} hr_register_write;

typedef struct {
  uint64_t address;      /* of its first byte in host memory */
  uint64_t timestamp_ns; /* since the epoch; 0: the source has no times */
  uint32_t length;       /* bytes in memory */
  uint32_t wire_length;  /* bytes on the wire */
} hr_packet;

typedef struct {
  uint64_t missed;    /* packets lost before the memory, for want of room */
  uint64_t waiting;   /* that a live source is known to have, and that are not taken */
  uint64_t taken;     /* and not released */
  uint32_t at_end;    /* no more will come */
  uint32_t full;      /* a packet waits until others are released */
  int32_t descriptor; /* becomes readable when more may be there; -1: waiting is of no use */
} hr_packets_state;

typedef struct {
  uint64_t time_ns;
  uint16_t function;
  uint16_t vector;
} hr_irq;

/* A virtual function whose network driver the harness plays. */
typedef struct {
  uint64_t address;      /* where its rings and buffers are mapped, in its own address space: a multiple of 4096 */
  uint32_t function;     /* beside accesses of host memory, and of interrupts */
  uint32_t entries;      /* descriptors of each of its two queues, and buffers */
  uint32_t buffer_bytes; /* of each buffer: the header's 12 and the longest frame's */
  uint16_t transmit_vector;
  uint16_t receive_vector;
  hr_register_write transmit_bell; /* that tells the card of descriptors */
  hr_register_write receive_bell;
  uint32_t offload; /* 1: a TAP device leaves checksums and TCP segmentation to the card, which must do both */
} hr_function;

/* Addresses of a virtqueue's parts: descriptors, event suppression structures. */
typedef struct {
  uint64_t ring;
  uint64_t driver;
  uint64_t device;
} hr_virtqueue;

typedef struct {
  uint32_t link_type; /* libpcap's number, DLT_... */
  uint32_t snapshot;  /* snapshot length in bytes */
  uint32_t swapped;   /* 1: a file whose byte order is not this machine's */
} hr_capture_format;

/* A frame in a memory sink. */
typedef struct {
  const uint8_t* data;
  uint32_t length;
  uint32_t wire_length;
  uint64_t timestamp_ns;
  const uint64_t* user; /* the card's own bits, hr_info.user_bits of them, the lowest first; NULL: it has none */
  uint32_t lost;
  uint32_t port; /* ingress */
  uint32_t error;
} hr_frame;

/* Makes a card in reset state out of a model's library. `trace`: path of an FST file, or NULL. NULL on error. */
hr_card* hr_create(const char* model, uint64_t clock_hz, const char* trace);
/* Finishes all files that hr_close_sinks() has not. */
void hr_destroy(hr_card* card);
/* Finishes and removes all sinks; the card can go on. */
int hr_close_sinks(hr_card* card);
/* Of the last call that failed in this thread, until the next one that fails. */
const char* hr_error(void);
hr_info hr_get_info(const hr_card* card);

int hr_set_option(hr_card* card, uint32_t option, uint64_t value);
int hr_set_rate(hr_card* card, uint32_t port, uint64_t bits_per_s);
int hr_set_flow_control(hr_card* card, uint32_t port, uint32_t on);
int hr_attach_source(hr_card* card, const hr_source* source);
int hr_attach_sink(hr_card* card, const hr_sink* sink);
/* The port's source gives nothing any more; a frame that is on its way still comes. */
int hr_end_source(hr_card* card, uint32_t port);
/* 1: the port's source has its link up; 0: it is down, or has broken off, or there is none. */
int hr_link_up(hr_card* card, uint32_t port);
/* What the TAP device that the port's source is of is called now, which its owner may change; "" for other sources. */
int hr_get_link_name(hr_card* card, uint32_t port, char name[16]);
/* Queues a frame at a port, whose source becomes "queue" if it has none. flags: HR_FRAME_... */
int hr_send(hr_card* card, uint32_t port, const uint8_t* data, uint32_t length, uint32_t wire_length, uint32_t flags);
/* Takes the oldest frame out of a port's memory sink, the one with this `select`; 1: there was one, 0:
 * none. It stays valid until the next call. */
int hr_receive(hr_card* card, uint32_t port, int32_t select, hr_frame* frame);
/* Lets all live sources end: they take nothing new, and what they have taken still comes. */
int hr_stop_sources(hr_card* card);
int hr_expect_passthrough(hr_card* card, uint32_t source, uint32_t destination);

/* Runs the card; gives HR_STOP_... or an error. */
int hr_run(hr_card* card, const hr_run_limits* limits);
int hr_read_register(hr_card* card, uint32_t address, uint32_t* value);
int hr_write_registers(hr_card* card, const hr_register_write* writes, size_t count);
/* Takes up to `limit` interrupts out of the queue; gives their number. */
int hr_take_irqs(hr_card* card, hr_irq* irqs, size_t limit);

/* The console of a card that has one: what its cores write and read. Output goes nowhere before a link is attached, and
 * never holds up a card. hr_close_sinks() finishes it as well. */
int hr_attach_console(hr_card* card, const hr_console* console);
/* The path of a "pty:", or "". */
const char* hr_get_console_terminal(hr_card* card);
/* Bytes of output that a "pty:" had no room for, since nobody read it. */
uint64_t hr_get_console_lost(hr_card* card);
/* Input for a core, beside the link's. */
int hr_write_console(hr_card* card, uint32_t core, const uint8_t* bytes, size_t count);
/* Takes what a core wrote, `limit` bytes at most; gives their number. */
int hr_read_console(hr_card* card, uint32_t core, uint8_t* bytes, size_t limit);

/* Fills an accelerator slot with a library, empties it before where it isn't; and empties it. The card doesn't know
 * when: its registers cut the slot off before. */
int hr_load_slot(hr_card* card, uint32_t number, const char* library);
int hr_unload_slot(hr_card* card, uint32_t number);

/* Interrupts of a function and vector add 1 to an eventfd from now on, instead of waiting for hr_take_irqs(). */
int hr_bind_interrupt(hr_card* card, uint16_t function, uint16_t vector, int descriptor);
int hr_unbind_interrupt(hr_card* card, uint16_t function, uint16_t vector);
/* When an eventfd is signalled, the value is written to the register; several signals that are seen together are one
 * write. A run waits for them as for live sources, and has its errors. The descriptor's number stands for the
 * doorbell. All eventfds may be closed afterwards. */
int hr_bind_doorbell(hr_card* card, int descriptor, hr_register_write write);
int hr_unbind_doorbell(hr_card* card, int descriptor);

/* Plays the network driver of a virtual function over packed virtqueues (VIRTIO 1.2), of whose addresses it gives the
 * transmit queue's and the receive queue's; all receive buffers are available at once. Gives the number of a port like
 * the Ethernet ports, above theirs: what its source gives is transmitted by the function, its sinks get what the
 * function receives. A number is used again once the function is detached. */
int hr_attach_function(hr_card* card, const hr_function* function, hr_virtqueue* queues);
/* The card must not use the queues any more. Finishes the port's sinks. */
int hr_detach_function(hr_card* card, uint32_t port);
/* Of any port, also a function's. */
int hr_get_port_stats(hr_card* card, uint32_t port, hr_port_stats* stats);

/* When something happens next in the card that nobody else causes: a frame that arrives, a timer, or now while it is at
 * work; UINT64_MAX: never. */
int hr_get_next_event(hr_card* card, uint64_t* time_ns);

/* Cards that cables join: a coordinator steps them, in the same order of time on any number of threads. A cable takes
 * what `port` sends to `to_port` of another card (or the same), where a frame starts `delay_ns` (at least 1) after the
 * sender has it whole; flow control of the receiver holds the sender back. Cards have the same time when they are
 * added. They may be destroyed before the coordinator, which must not run any more then. */
hr_coordinator* hr_create_coordinator(void);
void hr_destroy_coordinator(hr_coordinator* coordinator);
int hr_add_card(hr_coordinator* coordinator, hr_card* card);
int hr_connect(hr_coordinator* coordinator, hr_card* card, uint32_t port, hr_card* to, uint32_t to_port,
               uint64_t delay_ns);
/* Gives HR_STOP_IDLE when all is done (with until_idle), HR_STOP_CYCLES at until_ns (0: no limit), or HR_STOP_SLICE. */
int hr_run_cards(hr_coordinator* coordinator, uint64_t until_ns, uint32_t until_idle, uint32_t threads,
                 uint32_t slice_ms);

/* Host memory, an address space for each function. A mapped range is zeros at first. read_only: writes of the card are
 * answered with SLVERR. */
int hr_memory_map(hr_card* card, uint16_t function, uint64_t address, uint64_t size, uint32_t read_only);
/* The same with the bytes of a file from `offset` on, which all who map it share; read_only: this process doesn't write
 * them either. The file must be long enough and, unless it is trusted, sealed against becoming shorter
 * (F_SEAL_SHRINK). The descriptor may be closed afterwards. */
int hr_memory_map_file(hr_card* card, uint16_t function, uint64_t address, uint64_t size, uint32_t read_only,
                       int descriptor, uint64_t offset, uint32_t trusted);
int hr_memory_unmap(hr_card* card, uint16_t function, uint64_t address);
/* Where [address, address + size) lies in this process; NULL: not within one mapped range, or, to `write`, in one that
 * can't be written. */
uint8_t* hr_memory_at(hr_card* card, uint16_t function, uint64_t address, uint64_t size, uint32_t write);

/* A word of 1, 2, 4 or 8 bytes, aligned to its size, that other threads or processes use as well: what they wrote
 * before it is seen after the load, and what this one wrote is seen before the store. */
uint64_t hr_load_acquire(const uint8_t* at, uint32_t size);
void hr_store_release(uint8_t* at, uint64_t value, uint32_t size);

/* Keeps the pages of the range that has a byte, whatever becomes of the range and the card, until hr_memory_drop() is
 * given the result; null: there is no range, or no room. */
void* hr_memory_keep(hr_card* card, uint16_t function, uint64_t address);
void hr_memory_drop(void* kept);

/* Files of the records in a capture ring: the ring in host memory holds the body of a pcap file with times in ns, and
 * byte counts say modulo 2^32 where records begin and end. Of the sink, link, format, precision, snapshot,
 * interface_name and filter count; with HR_TIMESTAMPS_RECORDED, records get the times of what arrived at `port` at
 * their times, with HR_TIMESTAMPS_KEPT those that hr_open_packets() keeps. */
hr_writer* hr_open_writer(hr_card* card, const hr_sink* sink); /* NULL on error */
int hr_write_records(hr_card* card, hr_writer* writer, uint64_t ring_address, uint64_t ring_size, uint32_t from,
                     uint32_t to, const hr_writer_limits* limits, hr_writer_result* result);
/* Writes packets that lie anywhere in host memory, function 0's, each with its time. */
int hr_write_packets(hr_card* card, hr_writer* writer, const hr_packet* packets, size_t count);
/* The packets that are in the file, or in its buffer: without those that could not be written. */
hr_totals hr_get_writer_totals(const hr_writer* writer);
/* Finishes the file; pcapng tells how many packets came in, and how many of them were dropped. */
int hr_close_writer(hr_card* card, hr_writer* writer, uint64_t received, uint64_t dropped);
void hr_destroy_writer(hr_writer* writer);

/* Packets in host memory, for cards that fetch them there. hr_open_packets() maps [address, address + size), read-only
 * for the card, lets a source (all but "port:", "queue" and "null") put its packets there and gives a handle. With
 * "xdp:" the kernel itself puts them there, elsewhere they are copied. hr_take_packets() gives the number of packets
 * that have come, in order; HR_ERROR_CAPTURE when a source has broken off and all before that is taken. Their memory
 * is used again once hr_release_packets() has released them, the oldest first. `keep_times`: 1: packets of a capture
 * whose times aren't 32 bits of seconds and less than a second have other ones, in the first second after the epoch, of
 * which a writer with HR_TIMESTAMPS_KEPT makes the recorded ones again. */
int hr_open_packets(hr_card* card, const char* link, uint64_t address, uint64_t size, uint32_t keep_times);
int hr_take_packets(hr_card* card, int handle, hr_packet* packets, size_t limit);
int hr_release_packets(hr_card* card, int handle, size_t count);
int hr_get_packets_state(hr_card* card, int handle, hr_packets_state* state);
int hr_close_packets(hr_card* card, int handle);

/* Of the capture or interface that packets come from, of the first where there are several; where they come from
 * elsewhere, Ethernet and 262144. */
hr_capture_format hr_get_capture_format(hr_card* card);
/* `ports`: one for each port of the card. */
int hr_get_stats(hr_card* card, hr_stats* stats, hr_port_stats* ports);
/* What a port's sinks with this `select` have taken and could write, those finished too. */
hr_totals hr_get_sink_totals(hr_card* card, uint32_t port, int32_t select);
/* The n-th passthrough check; 0: there is none. */
int hr_get_passthrough_stats(hr_card* card, uint32_t n, hr_passthrough_stats* stats);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
