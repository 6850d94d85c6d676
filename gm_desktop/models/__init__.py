"""Qt item models without widgets: they hold what a view draws and never touch the store themselves."""
