"""The NIC card: ``card`` is its driver, ``run`` moves packets between links and functions, ``service`` answers those
who ask a card that runs."""
