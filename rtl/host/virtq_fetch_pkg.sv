// SPDX-License-Identifier: Apache-2.0
// What the parts of virtq_fetch keep of a queue and of a fetch.
package virtq_fetch_pkg;
  import host_pkg::*;

  // What the next look at a queue is for.
  typedef enum logic [1:0] {
    REST,     // none is due before the doorbell
    POLL,     // the last one found something; the driver needn't notify
    CONFIRM   // the last one found nothing: the driver is asked to notify, and after that comes one more look
  } mode_t;

  // A queue as software set it, without what fetching doesn't need.
  typedef struct packed {
    logic        enabled;
    logic        indirect;
    logic [15:0] size;
    logic [59:0] ring;      // in descriptors
    logic [61:0] device;    // in words of 4 bytes
  } queue_t;

  // How far a queue's descriptors have been read. Nobody but its fetch, of which there is one at most, changes it.
  typedef struct packed {
    mode_t       mode;
    logic        off;       // the driver was told that it needn't notify
    logic        stopped;   // by a fault
    logic        eager;     // the last fetch saw no descriptor that was not available
    logic        in_table;  // the next descriptor is one of an indirect table
    logic [59:0] entry;     // of the table, the next one, in descriptors
    logic [15:0] entries;   // of the table, left
    logic [15:0] id;        // of the chain whose table it is
    logic [15:0] slots;     // that the chain under way has so far; 0: none is under way
    place_t      place;     // of the next descriptor of the ring
    logic [5:0]  trusted;   // descriptors from there on that an earlier fetch saw available
    logic [7:0]  put;       // buffers so far
  } progress_t;

  // A fetch: 1 to BURST descriptors, none of them behind a multiple of BURST descriptors in memory, or, of a ring whose
  // queue is not eager, of half of it.
  typedef struct packed {
    logic        indirect;
    logic [15:0] size;
    logic [5:0]  count;     // descriptors
    logic [4:0]  first;     // the first one's lane in its beat
    progress_t   from;
  } fetch_t;

  // What a fetch has the bus do: write the device's event suppression flags, read, or both; with `enable` one after
  // the other.
  typedef struct packed {
    logic        write;
    logic        enable;    // the flags say so, and the read waits for the answer
    logic [61:0] device;
    logic [59:0] addr;      // of the first descriptor
    logic [7:0]  beats;     // less one
    logic        wrap;
    logic [15:0] user;
  } job_t;
endpackage
