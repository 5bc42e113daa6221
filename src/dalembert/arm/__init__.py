"""What a user holds: :class:`Arm`."""

from dalembert.arm.arm import Arm

__all__ = ["Arm"]
