"""LeRobot datasets, versions 2.0 to 3.0: Parquet tables of frames, episode after episode, described by meta/info.json.

    meta/info.json                            fps, and for every feature the names of its elements
    data/chunk-000/episode_000000.parquet     version 2: one episode per file
    data/chunk-000/file-000.parquet           version 3: several episodes per file

A row is a frame: ``episode_index``, ``frame_index``, ``timestamp`` (s), and a list of numbers per feature. Positions,
velocities and torques are recognised by the name of the feature (observation.velocity) or by those of its elements
(elbow.pos, elbow.vel); observation.state means positions unless stated otherwise. Actions are not measurements and are
never used. Files are found by listing the folder: the path templates in info.json are not evaluated.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.base.arrays import Array
from dalembert.base.files import read_bounded
from dalembert.base.tables.columns import name_and_unit
from dalembert.base.tables.signal_columns import SPELLED, matched, owner_of
from dalembert.base.wording import counted, reason, shown, some
from dalembert.errors import DalembertError
from dalembert.work.logs.formats.parquet import Columns, columns_of, opened, table_of
from dalembert.work.logs.formats.raw import LONGEST_NAME, MOST_COLUMNS, MOST_FILES, TABLES, Raw, Request

LARGEST_INFO = 4 << 20  # bytes of meta/info.json
FASTEST = 1e5  # frames per second
DEEPEST = 4  # nesting depth of the lists and tables that hold the names of a feature's elements
SHORTEST = 10  # frames of an episode
EVEN = 0.02  # of the frame interval: time stamps this close to frame_index/fps are replaced by it
SINGLE = 2e-7  # relative rounding error of stamps in single precision, with a margin
FULL_SCALE = 100.0  # largest normalised position
TURNING = 4 * math.pi  # rad: a joint that moves further is hardly in rad
FRAME = ("episode_index", "frame_index")  # the columns that identify a LeRobot table
COUNTERS = (*FRAME, "timestamp", "index", "task_index")
COMMANDS, OUTCOMES = "action", "next"  # first words of features that are not measured
# {ending of an element's name: (quantity, unit)}
ENDINGS = {
    "rad": ("q", "rad"), "deg": ("q", "deg"), "rad_s": ("qd", "rad/s"), "deg_s": ("qd", "deg/s"), "nm": ("tau", "N m"),
}  # fmt: skip
NUMBER = re.compile(r"episode_(\d{1,9})")


@dataclass
class Info:
    """The contents of meta/info.json: version, frames per second, and the names of the features' elements."""

    version: str = ""
    fps: float | None = None
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_parquet(path: Path, request: Request) -> Raw:
    """The contents of a Parquet file: a table of LeRobot episodes, or any other table."""
    with opened(path) as file:
        if not set(FRAME) <= set(file.schema_arrow.names):
            if request.episodes is not None:
                raise DalembertError(
                    f"{path}: episodes are requested, but the file has no episode_index and frame_index, as LeRobot tables have"
                )
            return table_of(path, file, request)
    described = path.parent.parent.parent / "meta" / "info.json"
    return _dataset(path, [path], _info(described) if os.path.isfile(described) else Info(), request)


def read_dataset(path: Path, request: Request) -> Raw:
    """The episodes in the folder of a dataset."""
    info = _info(path / "meta" / "info.json")
    files = sorted(islice(path.glob(TABLES), MOST_FILES + 1))
    if len(files) > MOST_FILES:
        raise DalembertError(f"{path}: the dataset has more than {MOST_FILES} files, the maximum")
    if not files:
        raise DalembertError(f"{path}: the LeRobot dataset has no {TABLES}; were its tables downloaded too?")
    return _dataset(path, files, info, request)


# -- meta/info.json --------------------------------------------------------------------------------


def _info(path: Path) -> Info:
    """The relevant contents of info.json; invalid element names are ignored."""
    text = read_bounded(path, LARGEST_INFO, "description of a dataset")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DalembertError(f"{path}: this is not valid JSON ({reason(error)})") from None
    if not isinstance(said, dict):
        raise DalembertError(f"{path}: it contains a {type(said).__name__}, not a table like LeRobot's info.json")
    fps = said.get("fps")
    if fps is not None and (type(fps) not in (int, float) or not 0 < fps <= FASTEST):
        raise DalembertError(
            f"{path}: fps is {shown(fps)}; it must be above 0 and at most {FASTEST:g} frames per second"
        )
    info = Info(f"{said.get('codebase_version', '')!s:.20}", None if fps is None else float(fps))
    features = said.get("features")
    for name, about in features.items() if isinstance(features, dict) else ():
        words = list(islice(_words(about.get("names") if isinstance(about, dict) else None), MOST_COLUMNS + 1))
        if words and len(words) <= MOST_COLUMNS and all(len(word) <= LONGEST_NAME for word in words):
            info.names[name] = tuple(words)
    return info


def _words(names: Any, depth: int = 0) -> Iterator[str]:
    """Names, in any nesting: ["a", "b"], {"motors": ["a", "b"]}, [["a", "b"]]."""
    if isinstance(names, str):
        yield names
    elif isinstance(names, (list, dict)) and depth < DEEPEST:
        for entry in names.values() if isinstance(names, dict) else names:
            yield from _words(entry, depth + 1)


# -- tables ----------------------------------------------------------------------------------------


def _dataset(path: Path, files: Sequence[Path], info: Info, request: Request) -> Raw:
    """The requested episodes in several tables, one after the other."""
    parts, known, size = list[tuple[Columns, NDArray[np.bool_]]](), set[int](), 0
    for k, file in enumerate(files):
        number = NUMBER.fullmatch(file.stem)
        if number and not _requested(np.array([int(number[1])]), request)[0]:
            known.add(int(number[1]))
            continue

        def report_part(fraction: float, k: int = k) -> None:
            request.progress((k + fraction) / len(files))

        with opened(file) as table:
            if not set(FRAME) <= set(table.schema_arrow.names):
                raise DalembertError(f"{file}: it has no {' and no '.join(FRAME)}, which every LeRobot table has")
            columns = columns_of(file, table, report_part, size)
        size = columns.size
        episodes = columns.table[:, columns.flat.index("episode_index")]
        if not (np.abs(episodes) < 1e9).all() or (episodes != np.round(episodes)).any():
            raise DalembertError(f"{file}: episode_index contains values that are not episode numbers")
        runs = episodes.astype(np.intp)
        known |= set(np.unique(runs).tolist())
        keep = _requested(runs, request)
        if keep.any():
            parts.append((columns, keep))
    absent = [first for first, end in request.episodes or () if end == first + 1 and first not in known]
    if absent or not parts:
        several = (
            f"episodes {min(known)} to {max(known)}" if len(known) > 1 else f"episode {min(known)}" if known else "none"
        )
        wanted = absent[0] if absent else "of those requested"
        raise DalembertError(f"{path}: there is no episode {wanted}; the dataset has {several}")
    return _gathered(path, _stacked(parts), info, request)


def _requested(runs: NDArray[np.intp], request: Request) -> NDArray[np.bool_]:
    """Which rows belong to requested episodes."""
    if request.episodes is None:
        return np.ones(len(runs), bool)
    return np.any([(first <= runs) & (runs < end) for first, end in request.episodes], axis=0)


def _stacked(parts: Sequence[tuple[Columns, NDArray[np.bool_]]]) -> Columns:
    """The columns of numbers that all tables have, at some rows of each; lists of different lengths are None."""
    first, tables = parts[0][0], [columns for columns, _ in parts]
    flat = [name for k, name in enumerate(first.flat) if k not in first.strange and all(name in x.flat for x in tables)]
    lists: dict[str, Array | None] = {}
    for name in first.lists:
        if all(name in x.lists for x in tables):
            present = [matrix[keep] for x, keep in parts if (matrix := x.lists[name]) is not None]
            alike = len(present) == len(parts) and len({matrix.shape[1] for matrix in present}) == 1
            lists[name] = np.concatenate(present) if alike else None
    table = np.concatenate([x.table[keep][:, [x.flat.index(name) for name in flat]] for x, keep in parts])
    return Columns(flat, table, lists, {}, {}, sum(x.size for x in tables))


def _gathered(path: Path, read: Columns, info: Info, request: Request) -> Raw:
    """One table of all features, with their meaning."""
    single = dict(zip(read.flat, read.table.T, strict=True))
    runs = single["episode_index"].astype(np.intp)
    order = np.argsort(runs, kind="stable")
    numbers, lengths = np.unique(runs, return_counts=True)
    whole = np.isin(runs, numbers[lengths >= SHORTEST])
    raw = Raw(str(path))
    if not whole.any():
        raise raw.wrong(f"none of its {counted(len(numbers), 'episode')} has {SHORTEST} frames or more")
    if not whole.all():
        short = numbers[lengths < SHORTEST].tolist()
        raw.note(f"the episodes {some([str(k) for k in short])} have fewer than {SHORTEST} frames and were ignored")
    order = order[whole[order]]
    raw.runs = runs[order]
    offers: dict[str, list[str]] = {}
    columns = [_instants(raw, single.get("frame_index"), single.get("timestamp"), info.fps)]
    raw.header["timestamp"], raw.groups["timestamp"], raw.roles["t"], raw.units[0] = 0, [0], "timestamp", "s"
    features = read.lists | {name: x[:, None] for name, x in single.items() if name not in COUNTERS}
    for name, values in features.items():
        if values is None:
            raw.faults[name] = f"{path}: the lists in '{name}' are empty or differ in length"
            values = np.full((len(runs), 1), np.nan)
        at, width = sum(column.shape[1] for column in columns), values.shape[1]
        raw.groups[name] = list(range(at, at + width))
        names = info.names.get(name, ())
        if len(names) != width:
            if len(names) > 1:
                raw.note(f"info.json names {len(names)} elements of {name}, which has {width}; the names are ignored")
            names = ()
        raw.header |= (
            {f"{name}.{element}": at + k for k, element in enumerate(names)} if len(set(names)) == width else {}
        )
        for kind, group in _understood(raw, name, names, request.joints).items():
            offers.setdefault(kind, []).append(group)
        columns.append(values)
    raw.table = np.concatenate(columns, axis=1)[order]
    _choose(raw, offers, request)
    _doubted(raw, request)
    version = f" {info.version}" if info.version else ""
    rate = f" at {info.fps:g} frames per second" if info.fps else ""
    count = counted(int(np.sum(lengths >= SHORTEST)), "episode")
    raw.note(f"a LeRobot dataset{version}, {count}{rate}; each episode is a separate run")
    return raw


def _instants(raw: Raw, frames: Array | None, stamps: Array | None, fps: float | None) -> Array:
    """t (N, 1): frame_index/fps if the time stamps agree with it up to rounding, else the time stamps."""
    even = None if frames is None or fps is None else frames / fps
    if stamps is None and even is None:
        raise raw.wrong("there is neither a timestamp nor a meta/info.json with the frames per second (fps)")
    if stamps is None or even is None:
        return (even if stamps is None else stamps)[:, None]  # type: ignore[index]
    with np.errstate(invalid="ignore"):
        rounded = np.abs(stamps - even) <= EVEN / float(fps or 1.0) + SINGLE * np.abs(stamps)
    return (even if rounded.all() else stamps)[:, None]


# -- meaning ---------------------------------------------------------------------------------------


def _understood(raw: Raw, feature: str, names: Sequence[str], joints: Sequence[str]) -> dict[str, str]:
    """{quantity: groups of columns that hold it}, for a feature.

    A feature whose elements are of several kinds is split into ``feature.q`` and so on.
    """
    columns, offered = raw.groups[feature], dict[str, str]()
    own = SPELLED.get(feature.rpartition(".")[2].lower()) or ("q" if feature == "observation.state" else None)
    kinds: dict[str, dict[str, int]] = {}
    for k, name in enumerate(names):
        kind, joint, unit = _element(name, joints)
        kinds.setdefault(kind or own or "", {})[joint] = columns[k]
        if unit is not None:
            raw.units[columns[k]] = unit
    if not names:
        kinds = {own or "": {str(column): column for column in columns}}
    for kind, by_joint in kinds.items():
        first = feature.partition(".")[0]
        if not kind or kind == "t" or first == OUTCOMES or (first == COMMANDS and kind not in ("q", "command")):
            continue
        kind = "command" if first == COMMANDS else kind
        group = feature if len(kinds) == 1 and len(by_joint) == len(columns) else f"{feature}.{kind}"
        raw.groups[group] = list(by_joint.values())
        if feature in raw.faults:
            raw.faults[group] = raw.faults[feature]
        if names:
            raw.joints[group] = tuple(by_joint)
        offered[kind] = group
    return offered


def _element(name: str, joints: Sequence[str]) -> tuple[str | None, str, str | None]:
    """(quantity, joint, unit) from the name of an element, such as elbow.pos, joint1_vel, left_joint_1_rad."""
    word, unit = name_and_unit(name)
    kind = None
    for ending, (meant, written) in ENDINGS.items():
        if unit is None and word.lower().endswith(f"_{ending}") and len(word) > len(ending) + 1:
            kind, unit, word = meant, written, word[: -len(ending) - 1]
            break
    if (owner := owner_of(word, joints)) is not None:
        kind, word = SPELLED[owner[0].lower()], owner[1]
    return kind, word, unit


def _choose(raw: Raw, offers: Mapping[str, list[str]], request: Request) -> None:
    """For each quantity choose the group with the arm's joints, or with as many; the first if there are several."""

    def misfit(group: str) -> int:
        joints = raw.joints.get(group)
        if joints is not None and matched(request.joints, joints) is not None:
            return 0
        return 1 if len(raw.groups[group]) == len(request.joints) else 2

    for kind, groups in offers.items():
        raw.roles[kind] = min(groups, key=misfit)
        if len(groups) > 1:
            raw.note(f"{some(groups)} could all be {kind}; {raw.roles[kind]} was read")


def _doubted(raw: Raw, request: Request) -> None:
    """Doubt positions that exceed a turn by far and stay within ±100: they may be normalised, and then no angles."""
    name = raw.roles.get("q")
    if name is None or name in raw.faults or any(column in raw.units for column in raw.groups[name]):
        return
    order = matched(request.joints, raw.joints.get(name, ()))
    q = raw.columns([raw.groups[name][k] for k in order] if order else raw.groups[name])
    low, high = np.nanmin(q, initial=0.0), np.nanmax(q, initial=0.0)
    if TURNING < max(-low, high) <= FULL_SCALE:
        raw.doubts[name] = (
            f"{raw.source}: {name} ranges from {low:.4g} to {high:.4g}, which looks like LeRobot's normalised positions "
            "(−100 to 100), which have no unit and cannot be used; record with use_degrees, or state the unit if there is "
            "one: units={'q': 'deg'} (--unit q=deg)"
        )
