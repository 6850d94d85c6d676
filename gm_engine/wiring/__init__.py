"""Our server in the configuration files of the programs that use it."""
