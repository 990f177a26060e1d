"""``python -m valleyscope``: the program."""

from ._program import main

main()
