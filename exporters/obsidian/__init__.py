"""Publishing a store as linked notes into one folder of an Obsidian vault."""
