"""Drivers of engines that more than one card holds: as in ``rtl``, an engine belongs to no card.

Uses ``card`` and ``net``. ``filter`` drives the array of filter cores of the filter card and of the capture card;
``functions`` is what cards with virtual functions do with them while they run.
"""
