"""The switch card's host side: ``layout`` has the words that its tables and programs are made of."""
