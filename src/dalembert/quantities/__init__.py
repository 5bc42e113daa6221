"""What can be asked of an arm: tables of quantities, and the one machine that traces, counts and compiles them.

machine.py    trace, price and kernel, for an entry of any table
joints.py     dynamics, kinematics and closure, of the joints
tip.py        operational space, for the rows of the tip's pose that are looked at
gradients.py  what optimisers of motions ask for
derived.py    gradients and directional derivatives of any entry, which are entries themselves
running.py    a kernel on arrays that are checked: loops are closed first
rollouts.py   programs of a simulation's steps, and the functions of the state that go with them
"""
