"""The software twins of the accelerators against the oracles of their hardware."""

import random
import zlib
from pathlib import Path

import pytest
from rpu_accel.patterns import cases, naive
from rpu_accel.prefixes import apart, hosts, longest, random_prefixes
from rpu_accel.twins import for_core, native
from scapy.utils import checksum as scapy_checksum

from headrace.cards.rpu.tables import blacklist_words, matcher_words


@pytest.mark.parametrize("name", ["blacklist", "checksum", "crc32", "matcher"])
def test_needs_no_library_on_the_core(name: str, tmp_path: Path) -> None:
    """Nothing but what gcc itself may call in any program."""
    assert for_core(name, tmp_path) <= {"memcpy", "memset"}


def test_crc32_is_that_of_zlib(tmp_path: Path) -> None:
    _, library = native("crc32", "uint32_t crc32(const void* data, size_t length, uint32_t start);", tmp_path)
    for length in [*range(70), 1500]:
        data, start = random.randbytes(length), random.choice((0, random.getrandbits(32)))
        assert library.crc32(data, length, start) == zlib.crc32(data, start)


def test_checksum_is_that_of_scapy(tmp_path: Path) -> None:
    ffi, library = native("checksum", "uint16_t checksum(const void* data, size_t length, uint32_t start);", tmp_path)
    for length in [*range(70), 1500, 65535]:
        for fill in (random.randbytes(length + 4), bytes([0xFF] * (length + 4))):
            offset, start = random.randrange(4), random.choice((0, 0xFFFF_FFFF, random.getrandbits(32)))
            data = fill[offset : offset + length]
            result = library.checksum(ffi.from_buffer(fill) + offset, length, start)
            number = scapy_checksum(start.to_bytes(4, "little") + data)
            assert result.to_bytes(2, "little") == number.to_bytes(2, "big")


def test_blacklist_finds_what_ipaddress_finds(tmp_path: Path) -> None:
    declarations = """
        struct blacklist { uint32_t loaded; uint32_t base; uint32_t starts[4096]; uint16_t numbers[4096]; };
        void blacklist_load(struct blacklist* list, uint32_t address, uint32_t data);
        int32_t blacklist_find(const struct blacklist* list, uint32_t address);
    """
    ffi, library = native("blacklist", declarations, tmp_path)
    table = ffi.new("struct blacklist *")
    assert library.blacklist_find(table, 0) == -1
    for prefixes in (random_prefixes(1050), apart(2048), [], random_prefixes(2048, range(24, 33))):
        for address, data in blacklist_words(prefixes):
            library.blacklist_load(table, address, data)
        for host in hosts(prefixes, 200):
            expected = longest(prefixes, host)
            found = library.blacklist_find(table, int.from_bytes(host.to_bytes(4, "big"), "little"))
            assert found == (-1 if expected is None else expected)


def test_matcher_finds_what_a_search_finds_in_the_order_of_the_hardware(tmp_path: Path) -> None:
    declarations = """
        struct matcher { uint32_t whole, filter[3][512], buckets[2048], rows[4096][3]; };
        typedef void (*matcher_report)(void* context, uint32_t pattern, uint32_t position);
        void matcher_load(struct matcher* matcher, uint32_t address, uint32_t data);
        uint32_t matcher_run(const struct matcher* matcher, const void* data, uint32_t length, matcher_report report,
                             void* context);
    """
    ffi, library = native("matcher", declarations, tmp_path)
    matcher = ffi.new("struct matcher *")
    assert library.matcher_run(matcher, b"abc", 3, ffi.NULL, ffi.NULL) == 0
    found: list[tuple[int, int]] = []
    report = ffi.callback("matcher_report", lambda _, pattern, position: found.append((pattern, position)))
    for patterns, payloads in cases():
        for address, data in matcher_words(patterns):
            library.matcher_load(matcher, address, data)
        for payload in payloads:
            found.clear()
            count = library.matcher_run(matcher, payload, len(payload), report, ffi.NULL)
            assert found == naive(patterns, payload)
            assert count == len(found)
