"""What the tests of the package share."""

import os
import subprocess

import pytest


@pytest.fixture(scope="session")
def program():
    """Runs the program with arguments; returns its standard output."""
    import valleyscope._program

    path = os.environ.get("VALLEYSCOPE") or str(valleyscope._program.path())

    def run(*arguments):
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
