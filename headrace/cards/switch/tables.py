"""Flow tables of the card: which part of a table each flow lies in, and how it gets there without a packet missing it.

The exact part of a table has one mask; flows of that mask lie there. It goes to the mask that has most flows. Of flows
that differ in priority only, the exact part knows the highest one: the others wait for it to go. The last place of the
ternary part matches what no flow does: such a packet is dropped, whatever earlier tables have written for it."""

from __future__ import annotations

from bisect import insort_left
from dataclasses import dataclass

from headrace.cards.switch.compile import Effect, effect_words
from headrace.cards.switch.fields import Key
from headrace.cards.switch.flows import Flow, TableCount
from headrace.cards.switch.layout import ENTRY, NO_TABLE, FlowOp
from headrace.cards.switch.memory import Numbers, Places, Quarantine
from headrace.cards.switch.registers import Answer, SwitchHardware
from headrace.cards.switch.ternary import TernaryOrder
from headrace.errors import CardError

CLAIM = 16


@dataclass(eq=False)
class Entry:
    """A flow in a table. ``key`` None: no packet can match it. ``place``: in the ternary part, None: it isn't there."""

    flow: Flow
    number: int
    key: Key | None
    rank: int
    place: int | None = None


class FlowTable:
    """One of the card's tables. ``drop``: address of a program that clears the action set; ``claim``: flows of a mask
    that it takes for the exact part to go to them."""

    def __init__(
        self, hardware: SwitchHardware, number: int, quarantine: Quarantine, drop: int, claim: int = CLAIM
    ) -> None:
        self._hardware, self._number, self._quarantine, self._claim = hardware, number, quarantine, claim
        self.entries: dict[int, Entry] = {}
        last = hardware.exact + hardware.ternary - 1
        self._missed, self._numbers = last, Numbers(0, last - 1)
        self._effect_places = Places(hardware.effects - 1)
        self._effects: dict[tuple[Effect, ...], list[int]] = {}  # where they are, and how many flows have them
        self._mask = 0  # of the exact part
        self._exact: dict[int, list[Entry]] = {}  # by value; the highest priority last
        self._exact_entries = 0
        self._ternary: TernaryOrder[Entry] = TernaryOrder(hardware.ternary - 1)
        self._by_mask: dict[int, dict[Entry, None]] = {}  # of the ternary part
        self.write(FlowOp.SET_ENTRY, self._missed, program_at=drop, next=NO_TABLE)
        self._command(FlowOp.TERNARY_SET, index=hardware.ternary - 1, number=self._missed)

    def count(self) -> TableCount:
        """Of packets since the beginning."""
        missed = self._hardware.count_entry(self._number, self._missed).packets  # first: packets go on meanwhile
        found = self._hardware.count_table(self._number)
        return TableCount(found.looked_up, found.matched - missed)

    # ------------------------------------------------------------------------------------------------- memories

    def take_number(self) -> int | None:
        """A free number for an entry."""
        return self._numbers.take()

    def free_number(self, number: int) -> None:
        """Of an entry that no packet can have."""
        self._numbers.free(number)

    def take_effects(self, effects: tuple[Effect, ...]) -> int | None:
        """The address of a list of effects, which equal lists share; None: there is no room."""
        if not effects:
            return 0
        known = self._effects.get(effects)
        if known is None:
            address = self._effect_places.take(len(effects))
            if address is None:
                return None
            for offset, word in enumerate(effect_words(effects)):
                self._command(FlowOp.SET_EFFECT, index=address + offset, effect=word)
            known = self._effects[effects] = [address, 0]
        known[1] += 1
        return known[0]

    def drop_effects(self, effects: tuple[Effect, ...]) -> None:
        """Undoes a ``take_effects``."""
        if not effects:
            return
        known = self._effects[effects]
        known[1] -= 1
        if not known[1]:
            del self._effects[effects]
            self._quarantine.put(lambda: self._effect_places.free(known[0], len(effects)))

    # -------------------------------------------------------------------------------------------------- entries

    def write(self, op: FlowOp, number: int, **members: int) -> None:
        """Writes an entry, in one step: SET_ENTRY, its counters begin at 0; CHANGE_ENTRY, they stay."""
        self._command(op, number=number, entry=ENTRY.pack(**members))

    def insert(self, entry: Entry, **members: int) -> bool:
        """Writes an entry, whose counters begin at 0, and lets packets find it; False: there is no room."""
        word = ENTRY.pack(**members)
        if entry.key is None:
            self._command(FlowOp.SET_ENTRY, number=entry.number, entry=word)
        elif not self._insert(entry, entry.key, word):
            return False
        self.entries[entry.number] = entry
        return True

    def remove(self, entry: Entry) -> None:
        """Lets packets find it no more; its number is still to be freed."""
        del self.entries[entry.number]
        if entry.key is None:
            return
        if entry.place is None:
            self._leave_exact(entry, entry.key)
        else:
            self._leave_ternary(entry, entry.key)

    def _insert(self, entry: Entry, key: Key, word: int) -> bool:
        if not key.mask:
            return self._enter_ternary(entry, key, word)
        if key.mask != self._mask and len(self._by_mask.get(key.mask, ())) >= self._claim + self._exact_entries:
            self._give_exact_to(key.mask)
        if key.mask == self._mask and self._enter_exact(entry, key, word):
            return True
        if self._enter_ternary(entry, key, word):
            return True
        if self._exact_entries or key.mask == self._mask:
            return False
        self._give_exact_to(key.mask)
        return self._enter_exact(entry, key, word)

    # ------------------------------------------------------------------------------------------- the exact part

    def _give_exact_to(self, mask: int) -> None:
        """Moves the flows of the exact part to the ternary one, if there is room, and those of ``mask`` into it."""
        if self._exact_entries > self._ternary.size - len(self._ternary):
            return
        for value, same in self._exact.items():
            for entry in same:
                self._enter_ternary(entry, Key(value, self._mask))
            self._command(FlowOp.EXACT_REMOVE, value=value)
        self._exact.clear()
        self._exact_entries = 0
        self._mask = mask
        self._command(FlowOp.SET_MASK, mask=mask)
        for entry in sorted(self._by_mask.get(mask, ()), key=lambda entry: -entry.rank):
            if entry.key is not None and self._enter_exact(entry, entry.key):
                self._leave_ternary(entry, entry.key)

    def _enter_exact(self, entry: Entry, key: Key, word: int | None = None) -> bool:
        """``word``: what the entry is, where it has not been written."""
        same = self._exact.get(key.value)
        if same is None:
            if word is None:
                there = self._command(FlowOp.EXACT_INSERT, **_keyed(entry, key))
            else:
                there = self._command(FlowOp.EXACT_ADD, entry=word, **_keyed(entry, key))
            if not there:
                return False
            same = self._exact[key.value] = []
        else:
            if word is not None:
                self._command(FlowOp.SET_ENTRY, number=entry.number, entry=word)
            if same[-1].rank < entry.rank:
                self._command(FlowOp.EXACT_CHANGE, **_keyed(entry, key))
        insort_left(same, entry, key=_rank)
        self._exact_entries += 1
        return True

    def _leave_exact(self, entry: Entry, key: Key) -> None:
        same = self._exact[key.value]
        if same[-1] is entry:
            if len(same) > 1:
                self._command(FlowOp.EXACT_CHANGE, **_keyed(same[-2], key))
            else:
                self._command(FlowOp.EXACT_REMOVE, value=key.value)
                del self._exact[key.value]
        same.remove(entry)
        self._exact_entries -= 1

    # ----------------------------------------------------------------------------------------- the ternary part

    def _enter_ternary(self, entry: Entry, key: Key, word: int | None = None) -> bool:
        """``word``: as ``_enter_exact``'s."""
        found = self._ternary.insert(entry.rank, entry)
        if found is None:
            return False
        place, moves = found
        for moved, new, old in moves:
            assert moved.key is not None
            self._command(
                FlowOp.TERNARY_MOVE, index=new, clear_index=old, mask=moved.key.mask, **_keyed(moved, moved.key)
            )
            moved.place = new
        if word is None:
            self._command(FlowOp.TERNARY_SET, index=place, mask=key.mask, **_keyed(entry, key))
        else:
            self._command(FlowOp.TERNARY_ADD, index=place, mask=key.mask, entry=word, **_keyed(entry, key))
        entry.place = place
        self._by_mask.setdefault(key.mask, {})[entry] = None
        return True

    def _leave_ternary(self, entry: Entry, key: Key) -> None:
        assert entry.place is not None
        self._command(FlowOp.TERNARY_CLEAR, clear_index=entry.place)
        self._ternary.remove(entry.place)
        entry.place = None
        same = self._by_mask[key.mask]
        del same[entry]
        if not same:
            del self._by_mask[key.mask]

    def _command(self, op: FlowOp, **members: int) -> bool:
        """False: the exact part is full."""
        answer = self._hardware.command(self._number, op=op, **members)
        if answer != Answer.DONE and (answer != Answer.FULL or op not in (FlowOp.EXACT_INSERT, FlowOp.EXACT_ADD)):
            raise CardError(f"flow table {self._number} answers {op.name} with {Answer(answer).name}")
        return answer == Answer.DONE


def _rank(entry: Entry) -> int:
    return entry.rank


def _keyed(entry: Entry, key: Key) -> dict[str, int]:
    return {"value": key.value, "number": entry.number, "rank": entry.rank}
