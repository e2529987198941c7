"""How well the cards do: benchmarks, studies beside published figures, the demo, and how their results are shown.

Uses the cards, ``synth`` and ``traffic``. ``points`` runs the points of a sweep, ``loads`` what happens at one of them;
``study`` repeats what the cards' sources published, ``bench`` measures what must hold, some of it points of a study.
``report`` turns results into tables, JSON and plots. Each uses only those before it.
"""
