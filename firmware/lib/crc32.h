// SPDX-License-Identifier: Apache-2.0
// CRC-32 of IEEE 802.3, that of zlib, in software: the twin of accel_crc32.
#ifndef HEADRACE_CRC32_H
#define HEADRACE_CRC32_H

#include <stddef.h>
#include <stdint.h>

// The CRC of `length` bytes. `start` is the CRC of the bytes before them, or 0.
uint32_t crc32(const void* data, size_t length, uint32_t start);

#endif
