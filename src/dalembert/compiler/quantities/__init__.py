"""The quantities of an arm: tables of them, and one machine that traces, counts and compiles them.

machine.py    trace, price and kernel, for an entry of any table
joints.py     dynamics, kinematics and closure, in joint space
tip.py        operational space, for the selected rows of the tip's pose
gradients.py  quantities for the optimisation of motions
derived.py    gradients and directional derivatives of any entry, which are entries themselves
kernel_calls.py  running a kernel on checked arrays, with loops closed first
rollouts.py   programs for the steps of a simulation, and the functions of the state that belong to them
"""
