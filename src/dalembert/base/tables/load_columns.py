"""Columns for the load at the tip of an arm, in motions and in lists of points, and for the rest at a point."""

from __future__ import annotations

from dalembert.base.tables.columns import Column

TENSOR = ("xx", "xy", "xz", "yy", "yz", "zz")
# the payload in the order of a body's parameters: mass, centre of mass, moments about it, in the tip frame
PAYLOADS = (
    Column("payload", "", "kg"),
    *(Column(f"payload_{axis}", "", "m") for axis in "xyz"),
    *(Column(f"payload_i{axes}", "", "kg m²") for axes in TENSOR),
)
# the wrench of the tip on its environment, in base axes
WRENCHES = (*(Column(f"f{axis}", "", "N") for axis in "xyz"), *(Column(f"m{axis}", "", "N m") for axis in "xyz"))
HOLD = Column("hold", "", "s")
