"""`python -m glossator`: the command."""

from __future__ import annotations

from glossator.cli.main import main

if __name__ == "__main__":
    main()
