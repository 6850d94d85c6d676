"""The command line: `graymatter`. Every verb goes through `gm_engine.Memory`, like every other program."""
