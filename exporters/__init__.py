"""What leaves the engine as files: each exporter reads through `gm_engine.Memory` and never writes to the store."""
