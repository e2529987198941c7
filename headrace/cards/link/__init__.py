"""The link card, a WAN emulator: ``card`` opens it, ``run`` moves packets between links, ``service`` answers those who
ask a card that runs."""
