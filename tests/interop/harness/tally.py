"""Counts checks and prints one line for each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class Failed(Exception):
    """A check did not hold; the text says what came instead."""


@dataclass
class Tally:
    """What has passed and what has failed so far."""

    passed: int = 0
    failed: int = 0

    def note(self, name: str, problem: str | None) -> None:
        """Counts one check. `problem` is None when it holds."""
        if problem is None:
            self.passed += 1
            print(f"ok      {name}", flush=True)
        else:
            self.failed += 1
            print(f"FAILED  {name}\n        {problem}", flush=True)

    @contextmanager
    def check(self, name: str) -> Iterator[None]:
        """Counts the block as one check; whatever it raises is a failure."""
        try:
            yield
        except (
            Exception
        ) as error:  # A check that breaks in an unforeseen way has failed, and the next one runs.
            kind = "" if isinstance(error, Failed) else f"{type(error).__name__}: "
            self.note(name, f"{kind}{error}"[:1500])
        else:
            self.note(name, None)


def expect(holds: bool, problem: str) -> None:
    """Fails the check around it unless it holds."""
    if not holds:
        raise Failed(problem)


def expect_equal(got: object, wanted: object, what: str) -> None:
    """Fails the check around it unless both are equal."""
    if got != wanted:
        raise Failed(f"{what}: wanted {wanted!r}, got {got!r}")
