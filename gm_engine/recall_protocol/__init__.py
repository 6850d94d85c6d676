"""The Recall adapter protocol, both halves: our store as a source, other sources for us."""
