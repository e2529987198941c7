"""What the filter card promises beside its verdicts: line rate, order, replacement, measurement, honest counters."""

from __future__ import annotations

import itertools
import random
import struct

import pytest
from oracle import TCP_SOURCE_100, random_packets

from headrace.card import Frame
from headrace.cards.filter.run import EAST, MONITOR, WEST
from headrace.engines.filter import MEASURES, Slot
from headrace.errors import HeadraceError
from headrace.net import bpf
from headrace.net.assembler import assemble

FLOW = "frame=tcp,sport=100"
EVERYTHING = bpf.compile("")


@pytest.mark.parametrize("size", [60, 61, 64, 65, 124, 128, 129, 188, 511, 512, 1514, 9212])
def test_line_rate_in_one_direction_at_every_size(filter_bench, size):
    bench = filter_bench("null")
    bench.driver.load({0: Slot(bpf.compile(TCP_SOURCE_100))})
    bench.card.source(WEST, f"gen:size={size},count=1500,{FLOW}")
    bench.card.run()
    counters = bench.check_conservation()
    assert counters.uninspected == 0
    assert counters.programs[0].matched == 1500
    assert counters.instructions == 1500 * 11
    assert counters.core_cpi <= 1.05


def test_line_rate_in_both_directions_with_16_cores(filter_bench):
    bench = filter_bench("null", CORES=16)
    bench.driver.load({0: Slot(bpf.compile("tcp src port 101"))})
    for port in (WEST, EAST):
        bench.card.source(port, f"gen:size=60,count=5000,{FLOW}")
    bench.card.run()
    counters = bench.check_conservation()
    assert (counters.uninspected, counters.inspected, counters.accepted) == (0, 10000, 0)
    assert bench.card.stats().latency_cycles[1] <= 8


def test_a_full_monitor_port_drops_whole_packets_and_says_how_many(filter_bench):
    bench = filter_bench()
    bench.driver.load({0: Slot(EVERYTHING)})
    for port, seed in ((WEST, 1), (EAST, 2)):
        bench.card.source(port, f"gen:size=60-1514,count=3000,seed={seed},{FLOW}")
    bench.card.run()
    counters = bench.check_conservation()
    received = bench.card.received(MONITOR)
    assert counters.uninspected == 0
    assert counters.monitor_dropped > 1000
    assert len(received) == counters.forwarded
    times = [frame.timestamp_ns for frame in received]
    assert times == sorted(times)
    bench.card.source(WEST, "gen:size=60,count=1")  # its record tells of those that were lost last
    bench.card.run()
    (last,) = bench.card.received(MONITOR)
    assert sum(frame.lost for frame in [*received, last]) == counters.monitor_dropped
    # What was lost before a record lies between it and the one before.
    assert len({(frame.port, frame.timestamp_ns) for frame in received}) == len(received)


def test_everything_accepted_reaches_a_monitor_port_that_is_fast_enough(filter_bench):
    bench = filter_bench()
    bench.driver.load({0: Slot(EVERYTHING)})
    packets = [packet.data for packet in random_packets(seed=3, count=800) if packet.wirelen == len(packet.data)]
    bench.card.send(WEST, packets)
    bench.card.run()
    counters = bench.check_conservation()
    assert (counters.uninspected, counters.monitor_dropped) == (0, 0)
    assert [frame.data for frame in bench.card.received(MONITOR)] == packets


SLOW = bpf.Program((*(bpf.Instruction(0x04, 0, 0, 1) for _ in range(200)), *EVERYTHING))  # 200 additions


def test_programs_too_slow_for_the_line_leave_packets_uninspected_but_passed_on(filter_bench):
    bench = filter_bench("null")
    bench.driver.load({0: Slot(SLOW)})
    bench.card.source(WEST, f"gen:size=60,count=5000,{FLOW}")
    bench.card.run()
    counters = bench.check_conservation()
    assert counters.uninspected > 2000
    assert counters.ingress[0].packets == 5000


def test_flow_control_holds_the_link_off_instead(filter_bench):
    bench = filter_bench("null")
    bench.driver.load({0: Slot(SLOW)})
    bench.lose_nothing()
    bench.card.source(WEST, f"gen:size=60,count=2000,{FLOW}")
    bench.card.run()
    counters = bench.check_conservation()
    assert counters.uninspected == 0
    assert counters.inspected == counters.forwarded == 2000
    assert counters.ingress[0].held > 10000
    assert bench.card.stats().ports[WEST].rx_held_cycles > 10000
    assert bench.card.stats().latency_cycles == (1, 1)


def test_flow_control_of_the_card_alone_loses_what_the_mac_does_not_wait_with(filter_bench):
    bench = filter_bench("null")
    bench.driver.load({0: Slot(SLOW)})
    bench.driver.set_flow_control(True)
    bench.card.source(WEST, f"gen:size=60,count=2000,{FLOW}")
    bench.card.run()
    counters, lost = bench.check_conservation(), bench.card.stats().ports[WEST].rx_overruns
    assert lost > 1000 and counters.uninspected == 0
    assert counters.inspected + lost == 2000


def test_programs_are_replaced_between_packets_and_nothing_is_lost(filter_bench):
    """Each program returns another length, so that a record shows which one it passed."""
    bench = filter_bench()
    lengths = [20 + number for number in range(25)]
    bench.driver.load({0: Slot(assemble("ret #19"))})
    bench.card.source(WEST, f"gen:size=60-300,count=4000,{FLOW}")
    bench.card.source(EAST, f"gen:size=60-300,count=4000,seed=9,{FLOW}")
    for length in lengths:
        bench.card.run(until=None, cycles=300)
        bench.driver.replace(0, Slot(assemble(f"ret #{length}")))
    bench.card.run()
    counters = bench.check_conservation()
    seen = [len(frame.data) for frame in bench.card.received(MONITOR)]
    assert counters.uninspected == 0
    assert len(seen) + counters.monitor_dropped == 8000
    assert seen == sorted(seen)  # in order of arrival, never back to an older program
    assert set(seen) == {19, *lengths}


def test_programs_of_half_the_memory_are_replaced_at_once_and_none_is_seen_by_halves(filter_bench):
    """Each program returns how many additions it has made: a mixture of two would return another number."""
    bench = filter_bench()
    bench.lose_nothing()
    half = bench.driver.imem_words // 2
    choose = random.Random(6)
    sizes = [300, half, half, 100, half, *(choose.randint(2, half) for _ in range(9))]
    bench.card.source(WEST, f"gen:size=1500,count=300,{FLOW}")
    wanted = []
    for number, size in enumerate(sizes):
        beside = {1: half - size} if size < half - 1 and number % 3 else {}
        programs = {slot: "add #1\n" * (length - 1) + "ret a" for slot, length in {0: size, **beside}.items()}
        bench.driver.load({slot: Slot(assemble(text)) for slot, text in programs.items()})
        wanted.append(max(text.count("add") for text in programs.values()))
        bench.card.run(until=None, cycles=choose.choice((0, 0, 500, 4000)))
    bench.card.run()
    assert bench.check_conservation().programs[0].errors == 0
    order = iter(wanted)
    received = [len(frame.data) for frame in bench.card.received(MONITOR)]
    assert len(received) == 300
    assert all(length in order for length, _ in itertools.groupby(received))


def test_a_program_that_libpcap_refuses_and_a_second_measurement_are_refused(filter_bench):
    bench = filter_bench()
    bench.driver.load({0: Slot(EVERYTHING)})
    shift = bpf.Program((bpf.Instruction(0x64, 0, 0, 32), *EVERYTHING))
    with pytest.raises(bpf.FilterError, match="shift"):
        bench.driver.load({0: Slot(shift)})
    value = Slot(assemble("ret #1"), measurement=True)
    with pytest.raises(HeadraceError, match="one slot at a time can hold a measurement"):
        bench.driver.load({0: value, 1: value})
    bench.card.send(WEST, [bytes(60)] * 5)
    bench.card.run()
    assert bench.driver.counters().programs[0].matched == 5


def test_a_transmitter_that_stalls_makes_the_receiving_mac_drop_and_count(filter_bench):
    bench = filter_bench("null")
    bench.driver.load({0: Slot(EVERYTHING)})
    bench.card.set_rate(EAST, 40e9)
    bench.card.source(WEST, f"gen:size=60,count=2000,{FLOW}")
    bench.card.run()
    lost = bench.card.stats().ports[WEST].rx_overruns
    assert lost > 500 and bench.check_conservation().ingress[0].packets == 2000 - lost


def test_replacing_one_slot_leaves_the_others_at_work(filter_bench):
    bench = filter_bench()
    bench.driver.load({0: Slot(assemble("ret #100")), 2: Slot(bpf.compile("tcp"))})
    bench.card.source(WEST, f"gen:size=200,count=3000,{FLOW}")
    for number in range(20):
        bench.card.run(until=None, cycles=200)
        bench.driver.replace(1, Slot(assemble(f"ret #{number}")) if number % 2 else None)
    bench.card.run()
    counters = bench.check_conservation()
    assert counters.programs[0].matched == counters.programs[2].matched == 3000
    assert 0 < counters.programs[1].matched < 3000


def test_a_measurement_counts_by_return_value_while_traffic_runs(filter_bench):
    bench = filter_bench("null")
    bench.driver.load({0: Slot(EVERYTHING), 3: Slot(assemble("ldb [0]\n ret a"), measurement=True)})
    packets = [bytes([number % 251]) * (60 + number % 7) for number in range(3000)]
    bench.card.send(WEST, packets)
    totals = []
    for _ in range(5):
        bench.card.run(until=None, cycles=900)
        totals.append(sum(count for count, _ in bench.driver.measurement().values()))
    bench.card.run()
    bench.check_conservation()
    expected = {}
    for packet in packets:
        count, size = expected.get(packet[0], (0, 0))
        expected[packet[0]] = (count + 1, size + len(packet))
    assert bench.driver.measurement() == expected
    assert totals == sorted(totals)
    assert totals[0] < totals[-1] <= 3000


def test_measured_values_out_of_range_are_counted_apart(filter_bench):
    bench = filter_bench("null")
    bench.driver.load({0: Slot(assemble("ldh [0]\n ret a"), measurement=True)})
    bench.card.send(WEST, [struct.pack(">H", value) + bytes(58) for value in (0, 1, 1023, 1024, 65535)])
    bench.card.run()
    assert bench.driver.measurement() == {0: (1, 60), 1: (1, 60), 1023: (1, 60), MEASURES: (2, 0)}


def test_the_card_survives_programs_that_never_end_or_jump_anywhere(filter_bench):
    bench = filter_bench()
    load = bench.driver.load
    endless = bpf.Program((bpf.Instruction(0x05, 0, 0, 0xFFFFFFFF),))
    bench.driver.set_budget(1000)
    load({1: Slot(EVERYTHING)})
    broken = [
        endless,
        bpf.Program((bpf.Instruction(0x05, 0, 0, 5000),)),
        bpf.Program((bpf.Instruction(0x15, 200, 200, 0),)),
        bpf.Program((bpf.Instruction(0xFF, 0, 0, 0),)),
        bpf.Program((bpf.Instruction(0x04, 0, 0, 1),)),
    ]
    choose = random.Random(4)
    anything = []
    for _ in range(50):
        codes = [(choose.randrange(256), *choose.randbytes(2), choose.getrandbits(32)) for _ in range(20)]
        anything.append(bpf.Program(tuple(bpf.Instruction(*code) for code in codes)))
    words = bench.card.regs
    for program in [*broken, *anything]:
        before = bench.driver.counters()
        with words.batch():
            words.imem_addr.write(512)
            for instruction in program:
                words.imem_k.write(instruction.k)
                words.imem_code.write(instruction.code | instruction.jt << 16 | instruction.jf << 24)
            active = 4 * bench.card.regs.control.active_set
        words.program_slot[active].set(base=512, length=len(program), mode="filter")
        bench.card.send(WEST, [bytes(100)] * 30)
        bench.card.run()
        after = bench.driver.counters()
        if program in broken:
            assert after.programs[0].errors - before.programs[0].errors == 30
            assert after.programs[0].matched == before.programs[0].matched
        assert after.programs[1].matched - before.programs[1].matched == 30
    bench.check_conservation()


def test_bad_and_oversized_frames_pass_on_uninspected(filter_bench):
    bench = filter_bench()
    bench.driver.load({0: Slot(EVERYTHING)})
    frames = [Frame(bytes([n]) * size) for n, size in enumerate((60, 65600, 65601, 65664, 80000, 60, 131073, 61))]
    bench.card.send(WEST, frames)
    bench.card.send(EAST, [Frame(bytes(70), error=True), Frame(bytes(71))])
    bench.card.run()
    counters = bench.check_conservation()
    assert (counters.ingress[0].bad, counters.ingress[1].bad) == (4, 1)
    assert sorted(len(frame.data) for frame in bench.card.received(MONITOR)) == [60, 60, 61, 71, 65600]


def test_frames_of_any_length_up_to_65600_bytes_are_filtered_and_copied_whole(filter_bench):
    """Long and short ones in turn, on both ports; the program looks at the last byte, the monitor gets the whole."""
    bench = filter_bench()
    bench.lose_nothing()
    program = assemble("ld len\n sub #1\n tax\n ldb [x + 0]\n jset #1, odd\n ret #0\n odd: ret #262144")
    bench.driver.load({0: Slot(program)})
    choose = random.Random(71)
    sizes = [choose.choice((60, 1514, 9216, 9217, 32768, 65535, 65536, 65600)) for _ in range(160)]
    frames = [choose.randbytes(size) for size in sizes]
    bench.card.send(WEST, frames[0::2])
    bench.card.send(EAST, frames[1::2])
    bench.card.run()
    assert bench.check_conservation().uninspected == 0
    received = bench.card.received(MONITOR)
    for port in (WEST, EAST):
        wanted = [frame for frame in frames[port::2] if frame[-1] & 1]
        assert [frame.data for frame in received if frame.port == port] == wanted


def test_frames_into_the_monitor_port_are_counted_and_ignored(filter_bench):
    bench = filter_bench()
    bench.driver.load({0: Slot(EVERYTHING)})
    bench.card.send(MONITOR, [bytes(60)] * 7)
    bench.card.run()
    assert bench.check_conservation().monitor_ignored == 7


@pytest.mark.parametrize(
    "parameters", [{"DATA_W": 128, "CORES": 1}, {"DATA_W": 1024, "CORES": 3, "PACKET_KB": 32, "MAX_FRAME": 9216}]
)
def test_other_widths_and_numbers_of_cores_see_the_same(filter_bench, parameters):
    bench = filter_bench(**parameters)
    bench.lose_nothing()
    program = bpf.compile("ip or ip6")
    bench.driver.load({0: Slot(program)})
    packets = random_packets(seed=5, count=300)
    bench.card.send(WEST, [Frame(packet.data, wire_len=packet.wirelen) for packet in packets])
    bench.card.run()
    bench.check_conservation()
    verdicts = bpf.run_many(program, [(packet.data, packet.wirelen) for packet in packets])
    accepted = [packet.data for packet, verdict in zip(packets, verdicts, strict=True) if verdict]
    assert [frame.data for frame in bench.card.received(MONITOR)] == accepted
