"""What each page knows and decides, without widgets: QObjects that talk to the engine host."""
