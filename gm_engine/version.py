"""The program's version and that of its ledger: the one place they are written."""

__version__ = "0.1.0"
SCHEMA_VERSION = 2
