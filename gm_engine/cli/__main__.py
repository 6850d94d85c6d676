"""`python -m gm_engine.cli`: the command line where no console script is on the path."""

import sys

from gm_engine.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
