"""Studies: sweeps that repeat a published system's measurements on Headrace's card, and go on where they end."""
