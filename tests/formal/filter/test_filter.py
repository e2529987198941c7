"""Proofs of the filter engine's parts where a simulation can't try every order of events."""

from headrace.testing.cases import Bug, Case, Proofs

DISPATCH = ("filter_dispatch", {"CORES": 3}, "filter_dispatch")


class TestDispatch(Proofs):
    cases = tuple(Case("filter_dispatch", {"CORES": cores}, induction=6, bounded=6) for cores in (1, 2, 3, 8))
    covered = (Case("filter_dispatch", {"CORES": 3}),)
    bugs = (
        Bug(*DISPATCH, "~settling_q[2]", "~core_listed"),
        Bug(*DISPATCH, "(assigned_q | assign_mask) & ~core_listed", "assigned_q & ~core_listed"),
        Bug(*DISPATCH, "wanted[port_q] && valid_q[first] ? !first : first", "first"),
    )
