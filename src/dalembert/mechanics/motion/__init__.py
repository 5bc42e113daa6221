"""Building blocks of simulation, control and operational space, in the actuated coordinates.

operational_space.py  S 7.8: the dynamic model of the tip
control.py            the compiled control laws
dry_friction.py       dry friction at rest, including that of passive joints
contact.py            friction, stops and impacts combined
methods.py            the integration methods and their capabilities
stepping.py           the steps that they consist of
"""
