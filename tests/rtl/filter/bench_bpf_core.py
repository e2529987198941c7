"""What a filter core promises: libpcap's verdict on every frame, in order of arrival, and the rows of those kept."""

import random
from collections.abc import Iterable
from typing import Any

import cocotb
from filter.core import Core, Frame, Verdict, combine, judge
from filter.loader import SLOTS
from oracle import TCP_SOURCE_100, interpret, random_packets, random_programs

from headrace.net import bpf
from headrace.net.assembler import assemble
from headrace.net.bpf import Instruction, Program
from headrace.testing.streams import PAIRS, PATTERNS, SOAK, bursts, mostly, never, seldom

TOP = 0xFFFFFFFF
RETURN_1 = Instruction(0x06, 0, 0, 1)
RETURN_A = Instruction(0x16, 0, 0, 0)
ACCEPT = assemble("ret #262144")
REJECT = assemble("ret #0")
RETURN_LENGTH = assemble("ld len\nret a")

# The TCP/IPv4 frame of 60 bytes for which `tcp src port 100` takes its longest path, 11 instructions.
TCP_FRAME = bytes.fromhex(
    "0200000000010200000000020800450000280001000040060000" + "0a0000010a000002" + "00640050" + "00" * 22
)


def behaviour() -> Any:
    """Decorator of a cocotb test: one thing that the core promises."""
    return cocotb.test(timeout_time=10, timeout_unit="ms")


def frames(seed: int, count: int, max_frame: int) -> list[Frame]:
    """Varied traffic, cut to `max_frame` bytes a frame."""
    return [Frame(packet.data[:max_frame], packet.wirelen) for packet in random_packets(seed, count)]


def longest(dut: Any) -> int:
    """Bytes of the longest frame that the core takes."""
    return int(dut.MAX_FRAME.value)


def raw(*instructions: tuple[int, int, int, int]) -> Program:
    """A program that need not be valid."""
    return Program(tuple(Instruction(*fields) for fields in instructions))


async def verdicts_agree(core: Core, some: list[Frame], *programs: Program, measure: int | None = None) -> None:
    """Load up to four programs and compare what they say of the frames with libpcap."""
    slots = dict(enumerate(programs))
    await core.load(slots, measure=measure)
    assert await core.run(some) == judge(some, slots, measure), slots


def groups(programs: Iterable[Program]) -> Iterable[tuple[Program, ...]]:
    """The programs, as many at a time as run on one frame."""
    waiting = list(programs)
    for start in range(0, len(waiting), SLOTS):
        yield tuple(waiting[start : start + SLOTS])


# -------------------------------------------------------------------------------------------------- verdicts of libpcap


@behaviour()
async def random_programs_return_what_libpcap_returns(dut: Any) -> None:
    core = Core(dut, forward=0.2)
    await core.start()
    count = (300 if SOAK else 100) if int(dut.DATA_W.value) == 512 else 40
    programs = list(random_programs(1, count, max_length=min(int(dut.IMEM_WORDS.value), 4096)))
    assert {one.code for program in programs for one in program.instructions} == set(bpf.OPCODES)
    for number, program in enumerate(programs):
        await verdicts_agree(core, frames(number, 20, longest(dut)), program)


@behaviour()
async def four_programs_run_on_each_frame(dut: Any) -> None:
    core = Core(dut, arrive=seldom(), take=bursts(), fetch=mostly(), forward=0.5)
    await core.start()
    programs = list(random_programs(2, 200, max_length=60))
    for number in range(40 if int(dut.DATA_W.value) == 512 else 20):
        some = frames(1000 + number, 20, longest(dut))
        slots = {slot: random.choice(programs) for slot in range(SLOTS) if random.random() < 0.8}
        measure = random.choice([None, *slots])
        await core.load(slots, measure=measure)
        assert await core.run(some) == judge(some, slots, measure), (slots, measure)


_OPERANDS = (0, 1, 2, 3, 31, 32, 33, 63, 64, 255, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xDEADBEEF, TOP - 1, TOP)
_ARITHMETIC = {0x04: "add", 0x14: "sub", 0x24: "mul", 0x34: "div", 0x44: "or", 0x54: "and"}
_ARITHMETIC |= {0x64: "lsh", 0x74: "rsh", 0x94: "mod", 0xA4: "xor"}


def _arithmetic(code: int, a: int, b: int) -> Program:
    """Returns 1 or 2 for each half of the result being right: every bit of it shows. 0 if the program ends before."""
    name = _ARITHMETIC[code & ~8]
    operation = f"{name} x" if code & 8 else f"{name} #{b}"
    probe = assemble(f"ld #{a}\nldx #{b}\n{operation}\njeq #0, zero\nret #1\nzero: ret #2")
    result = interpret(assemble(f"ld #{a}\nldx #{b}\n{operation}\nret a"), b"").verdict
    return Program(
        tuple(i._replace(k=result) if i.code == 0x15 else i for i in probe), f"{name} {a:#x} {b:#x} = {result:#x}"
    )


@behaviour()
async def arithmetic_is_exact_in_every_bit(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    programs = []
    for code in (code | source for code in _ARITHMETIC for source in (0, 8)):
        for _ in range(40):
            a, b = (random.choice((random.choice(_OPERANDS), random.getrandbits(32))) for _ in "ab")
            if code in (0x64, 0x74):
                b %= 32
            if code in (0x34, 0x94) and b == 0:
                b = 1
            programs.append(_arithmetic(code, a, b))
        programs += [_arithmetic(code, a, b) for a in (0x80000001, TOP) for b in (0, 31, 32, TOP) if code & 8]
    for a in _OPERANDS:
        negative = -a & TOP
        programs.append(assemble(f"ld #{a}\nneg\njeq #{negative}, right\nret #1\nright: ret #2"))
    for some in groups(programs):
        await verdicts_agree(core, [Frame(b"")], *some)


@behaviour()
async def conditions_compare_without_sign(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    programs = []
    for name in ("jeq", "jgt", "jge", "jset"):
        for b in _OPERANDS:
            for a in {b, (b + 1) & TOP, (b - 1) & TOP, random.choice(_OPERANDS), random.getrandbits(32)}:
                source = random.choice((f"#{b}", "x"))
                programs.append(assemble(f"ld #{a}\nldx #{b}\n{name} {source}, yes, no\nyes: ret #2\nno: ret #1"))
    for some in groups(programs):
        await verdicts_agree(core, [Frame(b"")], *some)


@behaviour()
async def shifts_and_divisions_that_the_validator_refuses_do_no_harm(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    for code, k, value in ((0x64, 32, 0), (0x74, 32, 0), (0x64, TOP, 0), (0x74, 0x80000000, 0)):
        await core.load({0: raw((0x00, 0, 0, TOP), (code, 0, 0, k), (0x15, 0, 1, value), RETURN_1, (0x06, 0, 0, 2))})
        assert await core.run([Frame(b"")]) == [combine({0: 1})]
    for code in (0x34, 0x94):
        await core.load({0: raw((0x00, 0, 0, 5), (code, 0, 0, 0), RETURN_1), 1: ACCEPT})
        assert await core.run([Frame(b"")]) == [combine({1: 262144})]


@behaviour()
async def a_division_by_zero_returns_0(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    programs = [assemble(f"ld #7\nldx #{x}\n{name} x\nadd #1\nret a") for name in ("div", "mod") for x in (0, 3)]
    some = [Frame(bytes(60))] * 12
    await verdicts_agree(core, some, *programs)
    # Those that wait for the divider are passed by those that divide by 0.
    await verdicts_agree(core, some, programs[1], programs[0], programs[3], programs[2])


@behaviour()
async def threads_share_the_divider(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    quotient = assemble("ld [0]\nldx #7\ndiv x\nst M[0]\nld [0]\nmod #1000\nldx M[0]\nadd x\nret a")
    some = [Frame(random.randbytes(60)) for _ in range(60)]
    await verdicts_agree(core, some, quotient, assemble("ldb [0]\nmod #3\nret a"), measure=1)


@behaviour()
async def loads_reach_every_byte_and_none_beyond(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    row = core.row_bytes
    for length in (0, 1, 2, 3, 4, 5, row - 1, row, row + 1, 2 * row, 3 * row + 2):
        data = random.randbytes(length)
        edges = {offset + near for offset in (0, row, 2 * row, length) for near in range(-5, 6)}
        edges |= {TOP, TOP - 1, TOP - 2, TOP - 3, TOP - 4, 0x80000000, 0x10000 + length, (1 << 16) - 4}
        programs = []
        for k in sorted(edge for edge in edges if edge >= 0):
            for name, size in (("ldb", 1), ("ldh", 2), ("ld", 4)):
                value = int.from_bytes(data[k : k + size], "big") if k + size <= length else 0
                x = random.choice((0, k, min(k, 9)))
                for load in (f"{name} [{k}]", f"ldx #{x}\n{name} [x + {k - x}]"):
                    programs.append(assemble(f"{load}\njeq #{value}, right\nret #1\nright: ret #2"))
            programs.append(assemble(f"ldx 4*([{k}]&0xf)\ntxa\nadd #1\nret a"))
        for some in groups(programs):
            await verdicts_agree(core, [Frame(data)], *some)


@behaviour()
async def an_indirect_load_does_not_wrap_around(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    sums = [
        (TOP, 1),
        (TOP, TOP),
        (TOP - 3, 4),
        (0x80000000, 0x80000000),
        (1, TOP),
        (59, TOP - 3),
        (TOP - 3, 3),
        (4, TOP),
    ]
    programs = [assemble(f"ldx #{x}\n{load} [x + {k}]\nret #1") for x, k in sums for load in ("ld", "ldh", "ldb")]
    for some in groups(programs):
        await verdicts_agree(core, [Frame(bytes(60))], *some)


def _checksum(load: str, size: int, step: int) -> Program:
    """Folds every load of `size` bytes at multiples of `step` into 16 bits that are not 0, by jumping backwards."""
    return assemble(f"""
            ldx #0
    more:   {load} [x + 0]
            stx M[1]
            ldx M[0]
            add x
            mul #0x01000193
            st M[0]
            ldx M[1]
            txa
            add #{step}
            tax
            add #{size}
            st M[2]
            ld len
            ldx M[2]
            jge x, on, end
    on:     txa
            sub #{size}
            tax
            ja more
    end:    ld M[0]
            rsh #16
            or #1
            ret a""")


@behaviour()
async def loads_of_every_alignment_see_the_right_frame_all_around_the_ring(dut: Any) -> None:
    core = Core(dut, take=seldom(), forward=0.5)
    await core.start()
    every = {slot: _checksum(load, size, 1) for slot, (load, size) in enumerate((("ldb", 1), ("ldh", 2), ("ld", 4)))}
    await core.load(every)
    some = [Frame(random.randbytes(length)) for length in random.choices(range(4, 3 * core.row_bytes), k=24)]
    assert await core.run(some) == judge(some, every)
    top = longest(dut)
    few = {0: _checksum("ld", 4, top // 40 | 1), 1: _checksum("ldb", 1, top // 55 | 1)}
    await core.load(few)
    lengths = [
        random.choice((top, top - 1, random.randint(4, top), random.randint(4, min(1514, top)))) for _ in range(30)
    ]
    some = [Frame(random.randbytes(length)) for length in lengths]
    assert await core.run(some) == judge(some, few)


@behaviour()
async def len_is_the_length_on_the_wire(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    some = [Frame(bytes(size), wire) for size, wire in ((0, 0), (0, 9), (60, 60), (60, 61), (60, 65535), (14, 65536))]
    some += [Frame(bytes(60), wire) for wire in (262_143, 262_144, 1 << 24, 0x7FFFFFFF, TOP)]
    high = assemble("ldx len\ntxa\nrsh #16\nret a")
    long = assemble("ld len\njgt #262143, long\nret #1\nlong: ret #2")
    await verdicts_agree(core, some, RETURN_LENGTH, high, long)


@behaviour()
async def scratch_memory_and_registers_start_as_0_for_every_program(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    dirty = assemble("ld #0xffffffff\n" + "\n".join(f"st M[{i}]" for i in range(16)) + "\ntax\nret #0")
    reads = [assemble(f"ld M[{i}]\nadd x\nldx M[{15 - i}]\nadd x\nadd #1\nret a") for i in range(16)]
    half = assemble("ld #9\nst M[3]\nld M[4]\nldx M[5]\nadd x\nldx M[3]\nadd x\nret a")
    for read in [*reads, half, assemble("txa\nadd #3\nret a"), RETURN_LENGTH]:
        await verdicts_agree(core, [Frame(bytes(60))] * 9, dirty, read, dirty, half)


# ---------------------------------------------------------------------------------------- faults of a program, its slot


@behaviour()
async def a_program_that_leaves_itself_is_stopped_with_an_error(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    wrong = {
        "runs past its end": raw((0x00, 0, 0, 1)),
        "jt past its end": raw((0x15, 1, 0, 0), RETURN_1),
        "jf far past its end": raw((0x15, 0, 255, 1), RETURN_1),
        "ja past its end": raw((0x05, 0, 0, 1), RETURN_1),
        "ja far ahead": raw((0x05, 0, 0, 4095), RETURN_1),
        "ja farther than any program is long": raw((0x05, 0, 0, 0x10000), RETURN_1),
        "ja by 2**31": raw((0x05, 0, 0, 0x80000000), RETURN_1),
        "ja before its start": raw((0x05, 0, 0, TOP - 1), RETURN_1),
        "ja far before its start": raw((0x05, 0, 0, -4096 & TOP), RETURN_1),
        "ja farther back than any program is long": raw((0x05, 0, 0, 0xFFFF0000), RETURN_1),
        "no instruction": raw(),
    }
    for name, program in wrong.items():
        await core.load({0: ACCEPT, 1: program, 2: ACCEPT, 3: program})
        verdict = combine({0: 262144, 2: 262144}, errors=0b1010)
        assert await core.run([Frame(bytes(60))] * 3) == [verdict] * 3, name
        await core.load({2: program}, measure=2)
        assert await core.run([Frame(bytes(60))]) == [Verdict(errors=0b0100)], name


@behaviour()
async def an_instruction_that_no_bpf_filter_executes_is_an_error(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    known = bpf.OPCODES
    unknown = [code for code in range(256) if code not in known]
    unknown += [random.randrange(256, 1 << 16) for _ in range(20)] + [
        0x100 | code for code in random.sample(sorted(known), 20)
    ]
    programs = [raw((code, 0, 0, 1), RETURN_1) for code in unknown]
    programs += [raw((code, 0, 0, k), RETURN_1) for code in (0x60, 0x61, 0x02, 0x03) for k in (16, 255, 256, TOP)]
    for some in groups(programs):
        await core.load(dict(enumerate(some)))
        assert await core.run([Frame(bytes(60))]) == [Verdict(errors=(1 << len(some)) - 1)], some


@behaviour()
async def a_program_may_spend_its_budget_and_no_more(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start(budget=50)
    endless = raw((0x05, 0, 0, TOP), RETURN_1)
    exact = Program((*[Instruction(0x04, 0, 0, 1)] * 49, RETURN_A))
    beyond = Program((*[Instruction(0x04, 0, 0, 1)] * 50, RETURN_A))
    divides = assemble("ld #81\n" + "div #1\n" * 48 + "ret a")
    await core.load({0: endless, 1: exact, 2: beyond, 3: divides})
    before = int(dut.instructions.value)
    some = [Frame(bytes(60))] * 10
    assert await core.run(some) == [combine({1: 49, 3: 81}, errors=0b0101)] * 10
    assert int(dut.instructions.value) - before == 10 * (51 + 50 + 51 + 50)
    dut.budget.value = 65535
    await core.load({0: _checksum("ldb", 1, 1)})
    assert await core.run([Frame(bytes(range(200)))]) == judge([Frame(bytes(range(200)))], {0: _checksum("ldb", 1, 1)})


# --------------------------------------------------------------------------------------------- sets, slots, measurement


@behaviour()
async def each_frame_gets_the_programs_of_its_set(dut: Any) -> None:
    core = Core(dut, arrive=seldom())
    await core.start()
    sets = [{0: assemble("ret #10"), 3: assemble("ret #11")}, {1: assemble("ret #20"), 2: RETURN_LENGTH}]
    for number, slots in enumerate(sets):
        await core.load(slots, set=number)
    some = [Frame(bytes(random.randint(0, 100)), set=random.getrandbits(1)) for _ in range(200)]
    assert await core.run(some) == [judge([frame], sets[frame.set])[0] for frame in some]


@behaviour()
async def a_set_is_loaded_while_frames_of_the_other_run(dut: Any) -> None:
    core = Core(dut)
    await core.start()
    programs = list(random_programs(3, 25, max_length=30))
    slots = {0: programs[0]}
    await core.load(slots, set=0)
    for number in range(1, 25):
        some = [Frame(f.data, f.wire_len, set=(number + 1) % 2) for f in frames(number, 20, min(1514, longest(dut)))]
        run = cocotb.start_soon(core.run(some))
        following = {number % SLOTS: programs[number]}
        await core.load(following, set=number % 2)
        assert await run == judge(some, slots)
        slots = following


@behaviour()
async def a_slot_that_is_off_says_nothing(dut: Any) -> None:
    core = Core(dut)
    await core.start()
    some = [Frame(bytes(60))] * 5
    await core.load({})
    assert await core.run(some) == [Verdict()] * 5
    for slot in range(SLOTS):
        await core.load({slot: assemble("ret #64")})
        assert await core.run(some) == [combine({slot: 64})] * 5


@behaviour()
async def the_longest_snaplen_of_the_programs_that_match_counts(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    for _ in range(30):
        values = {
            slot: random.choice((0, 1, 96, 0xFFFF, 0x10000, 0x1FFFE, 0x1FFFF, 0x20000, TOP)) for slot in range(SLOTS)
        }
        await verdicts_agree(core, [Frame(bytes(60))], *(assemble(f"ret #{value}") for value in values.values()))


@behaviour()
async def a_measurement_gives_its_number_and_matches_nothing(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    for value in (0, 1, 1022, 1023, 1024, 1025, 2047, 2048, 0x10000, 0x80000001, TOP):
        for slot in range(SLOTS):
            slots = dict.fromkeys(range(SLOTS), ACCEPT) | {slot: assemble(f"ld #{value}\nret a")}
            await core.load(slots, measure=slot)
            expected = combine(dict.fromkeys(range(SLOTS), 262144) | {slot: value}, measure=slot)
            assert await core.run([Frame(bytes(60))]) == [expected]
    await core.load({0: assemble("ld [100]\nret #7")}, measure=0)
    assert await core.run([Frame(bytes(60))]) == [Verdict()], "a load out of the frame returns 0"


# ------------------------------------------------------------------------------------------------------ frames and rows


@behaviour()
async def frames_of_every_length_keep_their_place(dut: Any) -> None:
    core = Core(dut, take=mostly())
    await core.start()
    await core.load({0: RETURN_LENGTH, 1: ACCEPT})
    row, top = core.row_bytes, longest(dut)
    lengths = [0, 0, 1, top, 0, row, row - 1, row + 1, 0, top, top - 1, 2 * row, 0, 0, top] * 3
    some = [Frame(random.randbytes(length)) for length in lengths]
    assert await core.run(some) == judge(some, {0: RETURN_LENGTH, 1: ACCEPT})


@behaviour()
async def a_bad_frame_gets_no_verdict_and_no_room(dut: Any) -> None:
    core = Core(dut, arrive=seldom(), take=seldom())
    await core.start()
    await core.load({0: ACCEPT, 1: raw((0x00, 0, 0, 0))})
    top = longest(dut)
    # A tap passes on a row more of a frame that is too long.
    rows = -(-top // core.row_bytes) + 1
    lengths = random.choices((0, 1, 60, 64, 65, 1000 % top, top, rows * core.row_bytes), k=150)
    some = [Frame(random.randbytes(n), bad=n > top or random.random() < 0.4) for n in lengths]
    good = combine({0: 262144}, errors=2)
    assert await core.run(some) == [Verdict() if frame.bad else good for frame in some]


@behaviour()
@cocotb.parametrize((("arrive", "take"), PAIRS))
async def back_to_back_frames_survive_every_rhythm(dut: Any, arrive: Any, take: Any) -> None:
    core = Core(dut, arrive(), take(), random.choice(PATTERNS)(), forward=0.5)
    await core.start()
    slots = {0: bpf.compile("tcp or udp"), 2: assemble("ld len\nand #1\nret a")}
    await core.load(slots)
    some = frames(random.getrandbits(20), 100, min(1514, longest(dut)))
    assert await core.run(some) == judge(some, slots)


@behaviour()
async def a_full_core_takes_nothing_and_loses_nothing(dut: Any) -> None:
    core = Core(dut, take=never())
    await core.start()
    await core.load({0: ACCEPT})
    for length in (0, 60, longest(dut)):
        core.take = iter(lambda: True, False)
        some = [Frame(random.randbytes(length)) for _ in range(100)]
        sending = cocotb.start_soon(core.run(some))
        quiet = 0
        while quiet < 300:
            await core.edge
            quiet = 0 if dut.in_ready.value else quiet + 1
        held = len(core._sent)
        rows = -(-length // core.row_bytes) if length else 0
        assert held >= min(50, core.rows // max(rows, 1) // 2)
        core.take = seldom()
        assert await sending == [combine({0: 262144})] * 100


@behaviour()
async def kept_rows_stay_while_later_frames_come_and_go(dut: Any) -> None:
    gate = [True]
    core = Core(dut, fetch=iter(lambda: gate[0], None))
    await core.start()
    await core.load({0: assemble("ldb [0]\nand #1\nret a")})
    # The first is kept and not released; rejected ones go through beside it until the ring is full.
    length = core.rows * core.row_bytes // 60
    some = [Frame(b"\1" + random.randbytes(200))] + [Frame(b"\0" + random.randbytes(length)) for _ in range(150)]
    run = cocotb.start_soon(core.run(some))
    quiet = 0
    while quiet < 300:
        await core.edge
        quiet = 0 if dut.in_ready.value else quiet + 1
    assert core._kept
    gate[0] = False
    assert await run == judge(some, {0: assemble("ldb [0]\nand #1\nret a")})


@behaviour()
async def what_a_program_returned_is_kept_while_later_frames_come(dut: Any) -> None:
    gate = [True]
    core = Core(dut, fetch=iter(lambda: gate[0], None), forward=0)
    await core.start()
    slots = {0: assemble("ld len\nlsh #16\nret a"), 2: assemble("ld len\nret a")}
    await core.load(slots)
    # More than there are numbers for, none of which is released before no more come.
    some = [Frame(bytes(1 + number % 9), wire_len=1 + number) for number in range(150)]
    run = cocotb.start_soon(core.run(some))
    quiet = 0
    while quiet < 300:
        await core.edge
        quiet = 0 if dut.in_ready.value else quiet + 1
    assert 50 < len(core._kept) < 64
    gate[0] = False
    assert await run == judge(some, slots)


@behaviour()
async def rows_and_loads_share_the_memory_fairly(dut: Any) -> None:
    core = Core(dut)
    await core.start()
    # Hardly anything but loads, so that rows have to steal turns from them; a load that lost its turn comes again.
    head = "\n".join(f"ld [{random.randint(0, 50)}]" for _ in range(20))
    loads = [assemble(f"{head}\nldx 4*([{k}]&0xf)\nldh [x + {k}]\nret a") for k in (1, 2, 3)]
    slots = {0: loads[0], 1: loads[1], 2: loads[2], 3: ACCEPT}
    await core.load(slots)
    some = [Frame(random.randbytes(min(300, longest(dut)))) for _ in range(150)]
    assert await core.run(some) == judge(some, slots)
    assert core.rows_compared >= 150
    assert 10 < core.longest_wait <= 18
    assert int(dut.slots.value) - int(dut.instructions.value) > 50


# ----------------------------------------------------------------------------------------------------------- throughput


@behaviour()
async def one_instruction_a_cycle(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    program = bpf.compile(TCP_SOURCE_100)
    await core.load({0: program})
    assert interpret(program, TCP_FRAME).executed == 11
    sending = cocotb.start_soon(core.run([Frame(TCP_FRAME)] * 120))
    while len(core.verdicts) < 20:
        await core.edge
    before = int(dut.instructions.value)
    cycles = 0
    while len(core.verdicts) < 100:
        await core.edge
        cycles += 1
    executed = int(dut.instructions.value) - before
    await sending
    assert executed / cycles > 0.97, f"{executed} instructions in {cycles} cycles"
    assert int(dut.slots.value) == int(dut.instructions.value) == 11 * 120


@behaviour()
async def only_divisions_and_stolen_turns_take_more_than_one_slot(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()
    everything = assemble(
        "ld [0]\nldx #3\nmul x\nlsh x\nrsh #1\nst M[2]\nxor x\nneg\nldx M[2]\nadd x\nldh [x + 0]\nret a"
    )
    await core.load({0: everything})
    await core.run([Frame(random.randbytes(60)) for _ in range(30)])
    assert int(dut.slots.value) == int(dut.instructions.value)
    await core.load({0: assemble("ld [0]\ndiv #3\nret a")})
    slots, done = int(dut.slots.value), int(dut.instructions.value)
    await core.run([Frame(random.randbytes(60)) for _ in range(16)])
    assert int(dut.instructions.value) - done == 16 * 3
    assert int(dut.slots.value) - slots > 16 * 3


@behaviour()
async def a_division_takes_40_cycles_or_more_of_its_thread_and_none_of_the_others(dut: Any) -> None:
    core = Core(dut, forward=0)
    await core.start()

    async def cycles_of(text: str, some: list[Frame]) -> int:
        await core.load({0: assemble(text)})
        count, sending = 0, cocotb.start_soon(core.run(some))
        while not sending.done():
            await core.edge
            count += 1
        return count

    divides, adds, many = "div #1\n" * 20 + "ret a", "add #1\n" * 20 + "ret a", "add #1\n" * 200 + "ret a"
    longer = [await cycles_of(text, [Frame(bytes(60))]) for text in (divides, adds)]
    assert longer[0] - longer[1] >= 20 * (40 - 8)  # a thread has every eighth cycle
    # One frame that divides beside seven that add.
    eight = [Frame(bytes([number]) * 60) for number in range(8)]
    before = int(dut.instructions.value)
    taken = await cycles_of(f"ldb [0]\njeq #0, some\n{many}\nsome: {divides}", eight)
    assert int(dut.instructions.value) - before > 0.8 * taken
