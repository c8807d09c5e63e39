"""How long a call may take, and when it is tried again. Knows no transport.

A Deadline is an end on the monotonic clock, or none. Patience says how long to keep trying while
nothing gets through: any progress renews it.
"""

from __future__ import annotations

import random
import time
from datetime import datetime, timedelta, timezone
from typing import Optional, Union

Seconds = Union[float, timedelta]

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0


class Deadline:
    """An instant to be done by; `Deadline(None)` never comes."""

    def __init__(self, seconds: Optional[float]) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> Optional[float]:
        """Seconds until then, 0 when it has passed, None when it never comes."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())


class Backoff:
    """Growing pauses, a little random so that many clients do not come back together."""

    def __init__(self) -> None:
        self._pause = FIRST_PAUSE

    def next(self) -> float:
        pause = self._pause * random.uniform(0.5, 1.0)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return pause


class Patience:
    """Tries again for so many seconds from the first failure behind the last progress."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.renew()

    def renew(self) -> None:
        self._backoff = Backoff()
        self._until: Optional[Deadline] = None

    def pause(self, at_least: Optional[float] = None) -> Optional[float]:
        """How long to wait before the next try; None: there is no time for another one."""
        if self._until is None:
            self._until = Deadline(self._seconds)
        pause = max(self._backoff.next(), at_least or 0.0)
        left = self._until.left()
        return pause if left is not None and pause < left else None


def milliseconds(duration: Seconds) -> int:
    """For the wire. A duration above 0 never becomes 0, which would mean the default."""
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if seconds < 0:
        raise ValueError(f"a duration of {seconds} s is below 0")
    return max(1, round(seconds * 1000)) if seconds > 0 else 0


def unix_milliseconds(instant: datetime) -> int:
    """For the wire. A datetime without a timezone is local time, as everywhere in Python."""
    return round(instant.timestamp() * 1000)


def instant(unix_ms: int) -> Optional[datetime]:
    """From the wire, in UTC; 0 stands for none."""
    if unix_ms == 0:
        return None
    return datetime.fromtimestamp(unix_ms / 1000, tz=timezone.utc)
