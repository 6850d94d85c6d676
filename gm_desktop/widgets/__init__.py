"""Widgets that know neither the engine nor a view-model."""
