"""The class :class:`Arm`, with which users work."""

from dalembert.arm.arm import Arm

__all__ = ["Arm"]
