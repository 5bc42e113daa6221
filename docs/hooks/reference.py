"""The API reference, made from signatures and docstrings: one page per group of ``GROUPS``, and a page of all names.

A docstring begins with a sentence. Lines "name  what it is" list arguments, and become a table; ``>>>`` begins an example.
"""

from __future__ import annotations

import html
import importlib
import inspect
import re
import textwrap
from functools import cached_property
from typing import Any

# the arm's methods by what they are for; attributes stand with the methods that they belong to
ARM = {
    "Torques and accelerations": "inverse_dynamics forward_dynamics torque_terms gravity_torque friction_torque joint_wrenches "
    "loop_wrenches rollout",
    "Matrices and energies": "inertia_matrix coriolis_matrix christoffel velocity_coefficients velocity_product_matrix velocity_products "
    "velocity_product_names inertia_derivative kinetic_energy potential_energy",
    "Poses and Jacobians": "pose link_poses jacobian jacobian_derivative home",
    "Derivatives": "torque_derivatives torque_second_derivatives forward_derivatives linearize derivatives gradient",
    "Parameters and regressors": "parameters parameter_names regressor compact_regressor regressor_pattern energy_regressors "
    "base_parameters scaled_parameters lengths length_names gears",
    "For controllers": "reference_torque reference_regressor kernel gradient_kernel tangent_kernel emit",
    "The tip": "operational_space dynamic_manipulability acceleration_polytope velocity_manipulability force_manipulability "
    "static_manipulability manipulability",
    "Step by step, as the documents do it": "recursion body_jacobians body_energies lagrange_euler dalembert dalembert_terms",
    "Equations, costs and neglected terms": "equations couplings operations approximate omissions omitted",
    "Other arms made from this one": "replace with_payload with_loop in_coordinates variants",
    "Closed and coupled chains": "tree tree_positions tree_motion closes closing closure_jacobian closure_derivative "
    "closure_kinds loop_residual loops loop_names passive_names",
    "Names, files and pictures": "name n joint_names save plot page",
}
# by the page's name: its title, what stands on top, and the names on it, of dalembert or with their module
GROUPS = {
    "robots": (
        "Robots",
        "Loading, describing and changing a robot.",
        "load from_dh arms Robot Link Joint Frame Placement Inertia Shape Limits Rotor Friction Coupling Loop Motor Gear "
        "read_motors read_gears",
    ),
    "motions": (
        "Motions",
        "Motions of the joints, what they carry, and inverse kinematics.",
        "Trajectory trapezoidal triangular polynomial spline fourier line circle join read_trajectory PayloadEvent "
        "WrenchEvent inverse_kinematics dalembert.work.trajectory.timing.scaling.ScalingReport "
        "dalembert.work.trajectory.timing.scaling.ScalingTable dalembert.work.trajectory.timing.time_optimal.TimeOptimalReport "
        "dalembert.work.trajectory.timing.retiming.Retiming",
    ),
    "simulation": (
        "Simulation and controllers",
        "Direct dynamics, and the laws that give torques.",
        "simulate dalembert.work.simulation.simulate.Run gradient PD ComputedTorque Feedforward Servo Adaptive OperationalController Wall "
        "RecordedTorque read_torques",
    ),
    "design": (
        "Design: sizing, tolerances, maps",
        "What a motion asks of an arm and of its drives.",
        "size dalembert.work.sizing.sizing.Sizing select_drives dalembert.work.sizing.drive_selection.DriveSelection monte_carlo "
        "Tolerances MonteCarlo workspace_map dalembert.work.analysis.workspace.WorkspaceMap "
        "dalembert.work.analysis.ellipsoid.Ellipsoid dalembert.work.analysis.ellipsoid.Polytope",
    ),
    "identification": (
        "Identification",
        "Parameters from logs, motions to record, and payloads.",
        "identify dalembert.work.identification.fitting.result.Identification ModelOptions FilterOptions EstimatorOptions "
        "SelectionOptions ValidationOptions LoopOptions dalembert.work.closed_loop.position_fit.ClosedLoopFit ParameterSet excite dalembert.work.excitation.excitation.Excitation "
        "identify_payload dalembert.work.payload.payload_fit.Payload FitRecord read_fit compare_fits "
        "dalembert.work.fits.fit_comparison.FitTrend dalembert.work.fits.fit_comparison.FitComparison",
    ),
    "results": (
        "Results of an arm's methods",
        "What `torque_terms`, `equations`, `couplings` and others return.",
        "dalembert.arm.terms.TorqueTerms dalembert.arm.terms.RecursionSteps dalembert.mechanics.symbols.present.Equations "
        "dalembert.work.analysis.coupling_analysis.Couplings dalembert.work.analysis.negligible_terms.Omissions "
        "dalembert.work.tip.operational.OperationalSpace dalembert.arm.variants.Variants dalembert.compiler.graph.count.Operations "
        "dalembert.work.identification.fitting.base_parameters.BaseParameters",
    ),
    "reports": (
        "Reports and pages",
        "Pages for colleagues.",
        "write_page dalembert.views.web.live_page.Page study dalembert.views.report.study.Study write_report",
    ),
    "errors": (
        "Errors and warnings",
        "Everything raised for wrong input is a `DalembertError`. [Error messages](../errors.md) shows the common ones with "
        "their remedies.",
        "DalembertError RobotError ShapeError LimitError PathError ClosureError SimulationError SingularInertiaError "
        "SingularityError MissingExtraError ModelWarning PhysicalWarning IdentificationWarning MotionWarning "
        "InterpolationWarning CacheWarning",
    ),
}
ROLE = re.compile(r":(?:func|class|meth|attr|mod|data):`~?([^`]*)`")


def pages() -> dict[str, str]:
    """The pages of the reference in Markdown, by their places in the site."""
    made = {"reference/arm.md": arm_page()}
    for key, (title, words, names) in GROUPS.items():
        parts = [f"# {title}\n\n{words}"]
        for name in names.split():
            parts.append(entry(name.rpartition(".")[2], found(name)))
        made[f"reference/{key}.md"] = "\n\n".join(parts) + "\n"
    made["reference/index.md"] = index_page()
    return made


def found(name: str) -> Any:
    """The object of a name of ``GROUPS``."""
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(module or "dalembert"), own)


def anchors() -> dict[str, str]:
    """Where every name has its entry: page and anchor."""
    places = {
        name.rpartition(".")[2]: f"{key}.md#{name.rpartition('.')[2]}"
        for key, (_, _, names) in GROUPS.items()
        for name in names.split()
    }
    return (
        places
        | {"Arm": "arm.md"}
        | {f"Arm.{name}": f"arm.md#{name}" for names in ARM.values() for name in names.split()}
    )


def index_page() -> str:
    """The page of all names, with the first line of each docstring."""
    rows = [
        "# API reference",
        "",
        "`import dalembert as da`. Every name below is public; anything else may change.",
        "",
    ]
    rows += ["## The arm", "", "| | |", "|---|---|"]
    rows += [
        f"| [{title}](arm.md#{slug(title)}) | {', '.join(f'[`{x}`](arm.md#{x})' for x in names.split())} |"
        for title, names in ARM.items()
    ]
    for key, (title, _, names) in GROUPS.items():
        rows += ["", f"## [{title}]({key}.md)", "", "| | |", "|---|---|"]
        for name in names.split():
            short = name.rpartition(".")[2]
            label = short if "." in name else f"da.{short}"
            rows.append(f"| [`{label}`]({key}.md#{short}) | {cell(first_line(found(name)))} |")
    return "\n".join(rows) + "\n"


def slug(title: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def arm_page() -> str:
    """The page of :class:`dalembert.Arm`, its methods by what they are for."""
    from dalembert import Arm

    parts = [
        "# The arm",
        docstring(Arm),
        "[`da.load`](robots.md#load) and [`da.from_dh`](robots.md#from_dh) make one; `Arm(robot)` takes a [`Robot`](robots.md#Robot).",
    ]
    for title, names in ARM.items():
        parts.append(f"## {title}")
        parts += [member(Arm, name, "arm", 3) for name in names.split()]
    return "\n\n".join(parts) + "\n"


def entry(name: str, thing: Any) -> str:
    """The entry of a function or class."""
    parts = [f"## `{name}` {{ #{name} }}"]
    if not (inspect.isclass(thing) and issubclass(thing, (Exception, Warning))):
        parts.append(signature(name, thing))
    parts.append(docstring(thing))
    if inspect.isclass(thing) and not issubclass(thing, (Exception, Warning)):
        members = [key for key in vars(thing) if not key.startswith("_") and documented(thing, key)]
        parts += [member(thing, key, name, 3, f"{name}.{key}") for key in members]
    return "\n\n".join(part for part in parts if part)


def documented(owner: type, name: str) -> bool:
    """Whether a method or property has a docstring of its own."""
    return bool(getattr(function(inspect.getattr_static(owner, name)), "__doc__", None)) and callable(
        function(inspect.getattr_static(owner, name))
    )


def function(thing: Any) -> Any:
    """The function behind a property, a class method or a method."""
    if isinstance(thing, property):
        return thing.fget
    if isinstance(thing, cached_property):
        return thing.func
    return getattr(thing, "__func__", thing)


def member(owner: type, name: str, of: str, level: int, anchor: str = "") -> str:
    """The entry of a method or property."""
    thing = inspect.getattr_static(owner, name)
    head = f"{'#' * level} `{name}` {{ #{anchor or name} }}"
    shown = "" if isinstance(thing, (property, cached_property)) else signature(f"{of}.{name}", function(thing))
    return "\n\n".join(part for part in (head, shown, docstring(function(thing))) if part)


def signature(name: str, thing: Any) -> str:
    """The signature as a line of code; annotations as they were written."""
    try:
        given = inspect.signature(thing)
    except ValueError:
        return ""
    kept = [p for key, p in given.parameters.items() if key not in ("self", "cls")]
    arguments: list[str] = []
    for parameter in kept:
        if (
            parameter.kind is parameter.KEYWORD_ONLY
            and "*" not in arguments
            and not any(x.startswith("*") for x in arguments)
        ):
            arguments.append("*")
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={value(parameter.default)}"
        arguments.append(f"{stars}{parameter.name}{default}")
    line = f"{name}({', '.join(arguments)})"
    if len(line) > 96:
        filled = textwrap.fill(", ".join(x.replace(" ", "\0") for x in arguments), 92).replace("\0", " ")
        line = f"{name}(\n{textwrap.indent(filled, '    ')}\n)"
    return f"```py\n{line}\n```"


def value(default: Any) -> str:
    """A default as it can be typed; an object is an ellipsis."""
    text = repr(default)
    return "…" if text.startswith("<") or len(text) > 40 else text


def first_line(thing: Any) -> str:
    """The first line of a docstring in Markdown."""
    return inline((inspect.getdoc(thing) or "").partition("\n")[0])


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def inline(text: str) -> str:
    """A docstring's text in Markdown: roles and double backquotes as code, which links where it names an entry."""
    places = anchors()

    def code(match: re.Match[str]) -> str:
        name = match[1].removeprefix("dalembert.").removesuffix("()")
        place = places.get(name) or places.get(f"Arm.{name.rpartition('.')[2]}" if "Arm." in match[1] else "")
        return f"[`{name}`]({place})" if place else f"`{name}`"

    parts = re.split(r"(``.*?``|:\w+:`~?[^`]*`)", text)
    return "".join(
        ROLE.sub(code, part)
        if part.startswith(":")
        else f"`{part[2:-2]}`"
        if part.startswith("``")
        else html.escape(part, quote=False).replace("*", "\\*").replace("_", "\\_")
        for part in parts
    )


def docstring(thing: Any) -> str:
    """A docstring in Markdown: paragraphs, tables of arguments, examples."""
    parts: list[str] = []
    for paragraph in re.split(r"\n[ ]*\n", inspect.getdoc(thing) or ""):
        if paragraph.lstrip().startswith(">>>"):
            text = inspect.cleandoc(paragraph)
            # an example goes on after an empty line
            if parts and parts[-1].startswith("```pycon"):
                parts[-1] = parts[-1].removesuffix("\n```") + f"\n\n{text}\n```"
            else:
                parts.append(f"```pycon\n{text}\n```")
        elif rows := arguments(paragraph):
            parts.append(
                "\n".join(
                    [
                        "| | |",
                        "|---|---|",
                        *(f"| {a if a == 'Returns' else f'`{a}`'} | {cell(inline(b))} |" for a, b in rows),
                    ]
                )
            )
        elif paragraph.startswith("    "):
            parts.append(f"```text\n{inspect.cleandoc(paragraph)}\n```")
        else:
            parts.append(inline(paragraph))
    return "\n\n".join(parts)


ARGUMENT = re.compile(r"^((?:\*{0,2}\w+)(?:, \*{0,2}\w+)*)(?: {2,}|(?<=\w{11}) )(\S.*)$")


def arguments(paragraph: str) -> list[tuple[str, str]]:
    """The rows (name, what it is) of a paragraph that lists arguments; none for any other paragraph."""
    rows: list[tuple[str, str]] = []
    for number, line in enumerate(paragraph.splitlines()):
        if match := ARGUMENT.match(line):
            rows.append((match[1], match[2]))
        elif number == 0 or not line.startswith("  "):
            return []
        else:
            rows[-1] = rows[-1][0], f"{rows[-1][1]} {line.strip()}"
    return rows
