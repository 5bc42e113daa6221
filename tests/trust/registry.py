"""The table of trust checks: what is counted, which error is measured, its bound, and how ``SOAK`` scales it."""

from __future__ import annotations

from trust import (
    cache_folders,
    crowded,
    elementary_functions,
    formulations_agree,
    hostile_arms,
    killed,
    long_runs,
    operational_agree,
    quantities_agree,
    round_trip,
    single_precision,
)
from trust.check import Check

CHECKS = (
    Check(
        "formulations", "Formulations agree, uncompiled",
        "Random robots with 1 to 8 revolute and prismatic joints, as chains and trees, with fixed links, rotors, gears, "
        "friction, payloads, tilted bases and tip wrenches. Joint torques by all six formulations (Lagrange, "
        "Lagrange–Euler, generalized d'Alembert, and Newton–Euler in link axes, in base axes and in its lean form), the "
        "inertia matrix by three, Coriolis matrix and Christoffel symbols by two, and forward dynamics by three. No machine "
        "code is involved: 96 % of the robots are evaluated with NumPy from traced graphs, 400 sets of random numbers for "
        "each structure, and 4 % in plain Python on robots each of which has a structure of its own.",
        "robots", "largest difference between two formulations, relative to the largest number of the same robot", 1e-9,
        formulations_agree.work, full=100_000, least=1_000, piece=400, small=((12, 6), (2, 40)), label="quantity, formulation",
    ),
    Check(
        "quantities", "All quantities agree, compiled, in all coordinates",
        "Small random robots (1 to 4 joints in the tree), one third each with open chains and trees, with joints that follow "
        "others (mimic joints, some by polynomials), and with closed loops of eleven kinds. Every quantity of the table is "
        "compiled with the robot's numbers in it and compared with every formulation of the quantity run as plain Python, "
        "and with an identity that derives it from other quantities, from an automatic derivative, or from a brute-force "
        "implementation that shares no code with the package.",
        "robots", "largest difference, relative to the largest number of the array", 1e-9,
        quantities_agree.work, full=2_000, least=12, piece=2, small=((5, 1), (10, 1)), label="quantity",
    ),
    Check(
        "operational space", "Operational space, compiled, in all coordinates",
        "Robots as above, with the task that each of them can perform. Every quantity in operational space and every measure of "
        "manipulability is compiled and compared with products of matrices from joint space; torques are put into the forward "
        "dynamics, which must give the acceleration of the tip. States within 1 % of a singularity are left out.",
        "robots", "largest difference, relative to the largest number of the array, and divided by 1 + c/100 with the "
        "largest condition number c of B, J Jᵀ, J B⁻¹ Jᵀ and J B² Jᵀ", 1e-9,
        operational_agree.work, full=2_000, least=12, piece=4, small=((2, 1), (7, 1)), label="quantity",
    ),
    Check(
        "hostile arms", "Numerically difficult arms",
        "Compiled torques, inertia matrices and accelerations of random arms with massless links, gear ratios up to 1e4, "
        "lengths from 1e-3 m to 1e3 m and masses from 1e-6 kg to 1e6 kg in one arm, nearly singular inertias, prismatic "
        "joints only, joint offsets of a thousand turns, nearly parallel axes, and 60 joints. Torques are compared with all formulations as plain "
        "Python (with three of them at 60 joints); accelerations are put back into the inverse dynamics. Where an arm has "
        "no forward dynamics, the refusal must be one sentence.",
        "arms", "largest difference, relative to the largest number that the sum has", 1e-9,
        hostile_arms.work, full=200, least=10, piece=3, small=((0, 1), (7, 1)), label="kind of arm",
    ),
    Check(
        "round trip", "Forward dynamics of inverse dynamics",
        "Random chains with parameters and lengths chosen such that the inertia matrix B has condition numbers up to 1e14. "
        "Compiled torques for a random acceleration are put into compiled forward dynamics, which must return the "
        "acceleration. Rounding the torques alone costs about ε cond(B) with ε = 2.2e-16, so the bound is 20 ε cond(B), at the "
        "upper end of each decade.",
        "robots", "relative error of the accelerations", 1.0,
        round_trip.work, full=1_000_000, least=20_000, piece=4_000, small=((1, 500),), label="condition number",
    ),
    Check(
        "single precision", "Kernels in float32",
        "Random robots of all kinds of coordinates. Kernels that calculate in float32 are compared with those in float64 at the "
        "same states. A position that is rounded to float32 changes a quantity f by up to 6e-8 |∂f/∂q|, so errors are relative to "
        "|f| + |∂f/∂q|; those of forward dynamics are also divided by cond(B)/100 where that is above 1.",
        "robots", "largest difference, relative to the sum of the largest numbers of the array and of its derivative by q", 1e-5,
        single_precision.work, full=300, least=6, piece=3, small=((0, 1),), label="quantity",
    ),
    Check(
        "elementary functions", "sin, cos and other elementary functions",
        "Kernels have elementary functions of their own. Compiled results at random arguments are compared with mpmath "
        "(1,200 bits for sine and cosine). The remainder of an angle after division by π/2 is rounded twice, so the bound of sine and "
        "cosine is 3 ulp.",
        "arguments", "largest error in units of the last place", 2.0,
        elementary_functions.work, full=1_000_000, least=20_000, piece=20_000, small=((0, 1_000),), label="function and range",
    ),
    Check(
        "kill -9", "Processes killed at random instants",
        "A process compiles arms, keeps kernels in the cache and writes a robot file and a trajectory, again and again, until "
        "it is killed with SIGKILL after 0 to 0.8 s. Then every kernel in the cache must be intact and every file either absent or "
        "complete, and a new process with the same folders must compute correct torques.",
        "kills", "", 0.0,
        killed.work, full=500, least=10, piece=10, small=((0, 2),), label="what must hold",
    ),
    Check(
        "16 processes", "16 processes at once on one empty cache",
        "16 processes wait for one another and then request the same kernel at the same moment. All must compute the same "
        "torques without a warning, exactly one intact kernel must be in the cache, and the next process must use it.",
        "processes", "", 0.0,
        crowded.work, full=40, least=2, piece=1, small=(), label="what must hold",
    ),
    Check(
        "cache folders", "Full, read-only and hostile cache folders",
        "Torques are computed twice in each situation. They must be correct to the last bit, and the package may print one "
        "sentence at most about its cache; what it can repair, it must repair silently.",
        "situations", "", 0.0,
        cache_folders.work, full=290, least=29, piece=29, small=((0, 4),), label="situation",
    ),
    Check(
        "readers", "Fuzzing of all readers",
        "Damaged robot files, logs, tables, kernels and requests. Every input must be read, or refused with one sentence, in "
        "bounded time and memory.",
        "inputs", "", 0.0,
        long_runs.readers, full=2_400.0, least=20.0, piece=60.0, label="reader", unit="seconds", names=long_runs.targets,
    ),
    Check(
        "many arms", "Very many arms in one process",
        "Arms are created, used and released, one after the other. Neither the number of memory maps nor the memory of the process "
        "may grow.",
        "arms", "", 0.0,
        long_runs.many_arms, full=30_000, least=400, piece=30_000_000, label="what must hold",
    ),
    Check(
        "properties", "Property tests on new examples",
        "The property tests of the test suite, on random examples that no earlier run has seen.",
        "tests", "", 0.0,
        long_runs.properties, full=600.0, least=20.0, piece=150.0, label="file", unit="seconds",
    ),
)  # fmt: skip

BY_NAME = {check.name: check for check in CHECKS}
