"""How one task of submit_many fared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from berth.errors import BerthError


@dataclass(frozen=True)
class Outcome:
    """A task of submit_many: accepted and on disk, or refused with an error."""

    index: int  # of the spec, from 0
    task_id: str
    error: Optional[BerthError]

    @property
    def accepted(self) -> bool:
        return self.error is None
