// SPDX-License-Identifier: Apache-2.0
// Internet checksum (RFC 1071) in software: the twin of accel_checksum.
#ifndef HEADRACE_CHECKSUM_H
#define HEADRACE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

// The checksum of `length` bytes as a half word to store into a packet as it is. `start` is added to the sum: half
// words summed before, as loads give them, such as those of a pseudo header, or the complement of the checksum of a
// piece of an even length.
uint16_t checksum(const void* data, size_t length, uint32_t start);

#endif
