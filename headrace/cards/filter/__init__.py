"""The filter card: ``run`` filters and measures as a user wants it, ``measurements`` are the programs that count."""
