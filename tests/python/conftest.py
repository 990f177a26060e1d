"""What the tests of the package share."""

import subprocess

import pytest


@pytest.fixture(scope="session")
def program():
    """Runs the program with arguments; returns its standard output."""
    from valleyscope.results import program as command

    def run(*arguments):
        done = subprocess.run([*command(), *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
