"""The client of Berth under another name: `from gpu_scheduler import GPUClient`."""

from berth import *  # noqa: F403
from berth import __all__ as __all__
