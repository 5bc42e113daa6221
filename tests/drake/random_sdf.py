"""Random SDF models in the spellings that the format has: frames, nested models, expressed_in, old versions, springs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

VERSIONS = ("1.5", "1.6", "1.7", "1.8", "1.9", "1.10", "1.11")


class RandomSdf:
    """One model; the seed says which."""

    def __init__(self, seed: int, version: str = "") -> None:
        self.rng = np.random.default_rng(seed)
        self.version = version or str(self.rng.choice(VERSIONS))
        self.frames = tuple(map(int, self.version.split("."))) >= (1, 7)

    def text(self) -> str:
        """An SDF document of one model, which a joint holds to the world."""
        inside = self._model("", links=int(self.rng.integers(2, 6)), depth=1)
        pose = self._pose()
        return f'<sdf version="{self.version}"><model name="m">{pose}{inside}</model></sdf>'

    def part(self) -> str:
        """An SDF document of one model that nothing holds: link0 is its root."""
        return f'<sdf version="{self.version}"><model name="m">{self._pose()}{self._model("", 3, 1, held=False)}</model></sdf>'

    def numbers(self, count: int, size: float = 1.0) -> str:
        return " ".join(f"{x:.6f}" for x in self.rng.uniform(-size, size, count))

    def _pose(self, relative_to: str = "") -> str:
        if self.rng.random() < 0.2 and not relative_to:
            return ""
        attribute = f' relative_to="{relative_to}"' if relative_to else ""
        if self.rng.random() < 0.2 and self.version in ("1.9", "1.10", "1.11"):
            return f'<pose{attribute} degrees="true">{self.numbers(3)} {self.numbers(3, 170.0)}</pose>'
        return f"<pose{attribute}>{self.numbers(3)} {self.numbers(3, 3.0)}</pose>"

    def _some(self, names: list[str], chance: float) -> str:
        """One of the names, or none."""
        return str(self.rng.choice(names)) if self.frames and names and self.rng.random() < chance else ""

    def _link(self, name: str, known: list[str]) -> str:
        a, b, c = self.rng.uniform(0.1, 1.0, 3)
        entries = f"<ixx>{b + c:.6f}</ixx><iyy>{a + c:.6f}</iyy><izz>{a + b:.6f}</izz><ixy>{0.05 * a:.6f}</ixy>"
        inertial = f"<inertial>{self._pose()}<mass>{self.rng.uniform(0.5, 3):.6f}</mass><inertia>{entries}</inertia></inertial>"
        return f'<link name="{name}">{self._pose(self._some(known, 0.4))}{inertial}</link>'

    def axis(self, tag: str, known: list[str], xyz: str, springs: bool) -> str:
        where, old = self._some(known, 0.5), ""
        if not self.frames and self.rng.random() < 0.5:
            old = "<use_parent_model_frame>true</use_parent_model_frame>"
        expressed = f' expressed_in="{where}"' if where else ""
        spring = f"<spring_reference>{self.numbers(1)}</spring_reference><spring_stiffness>{self.rng.uniform(0, 9):.4f}</spring_stiffness>"
        spring = spring if springs else ""
        dynamics = f"<dynamics><damping>{self.rng.uniform(0, 2):.4f}</damping>{spring}</dynamics>"
        return f"<{tag}><xyz{expressed}>{xyz}</xyz><limit><effort>9</effort></limit>{dynamics}{old}</{tag}>"

    def _joint(self, name: str, parent: str, child: str, known: list[str]) -> str:
        kind = str(self.rng.choice(["revolute", "continuous", "prismatic", "fixed", "screw", "universal"]))
        if kind == "screw" and self.version not in ("1.10", "1.11"):
            kind = "revolute"
        inside = self._pose(self._some(known, 0.4))
        if kind == "universal":
            inside += "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
        elif kind != "fixed":
            inside += self.axis("axis", known, self.numbers(3), kind != "screw")  # Drake's screws have none
            if kind != "screw":
                inside += f"<drake:rotor_inertia>{self.rng.uniform(0, 0.01):.5f}</drake:rotor_inertia><drake:gear_ratio>30</drake:gear_ratio>"
        if kind == "screw":
            inside += f"<screw_thread_pitch>{self.numbers(1)}</screw_thread_pitch>"
        drake = ' xmlns:drake="http://drake.mit.edu"'
        return (
            f'<joint name="{name}" type="{kind}"{drake}><parent>{parent}</parent><child>{child}</child>{inside}</joint>'
        )

    def _model(self, prefix: str, links: int, depth: int, held: bool = True) -> str:
        """The inside of a model whose names begin with ``prefix``."""
        names, parts, known = [], [], []
        for k in range(links):
            name = f"{prefix}link{k}"
            parts.append(self._link(name, known))
            names.append(name)
            known.append(name)
            if self.frames and self.rng.random() < 0.4:
                attached = self._some(known, 0.7)
                holder = f' attached_to="{attached}"' if attached else ""
                parts.append(f'<frame name="{prefix}frame{k}"{holder}>{self._pose(self._some(known, 0.3))}</frame>')
                known.append(f"{prefix}frame{k}")
        children = list(names)
        if depth and self.frames and self.rng.random() < 0.6:
            inner = self._model(f"{prefix}in_", 2, depth - 1)
            placement = f' placement_frame="{prefix}in_link1"' if self.rng.random() < 0.5 else ""
            if self.version in ("1.8", "1.9", "1.10", "1.11"):
                parts.append(
                    f'<model name="{prefix}nested"{placement}>{self._pose(self._some(known, 0.4))}{inner}</model>'
                )
                children.append(f"{prefix}nested::{prefix}in_link0")
        if prefix:  # its first link is held by who contains it
            pairs = list(pairwise(children))
        else:
            parents = ["world", *(str(self.rng.choice(children[:k])) for k in range(1, len(children)))]
            pairs = list(zip(parents, children, strict=True))[0 if held else 1 :]
        parts += [self._joint(f"{prefix}joint{k}", *pair, known) for k, pair in enumerate(pairs)]
        return "".join(parts)
