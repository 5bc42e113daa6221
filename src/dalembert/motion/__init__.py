"""What simulation, control and operational space are made of, in the coordinates that are held.

operational_space.py  S 7.8: the dynamic model of the tip
control.py            the control laws that are compiled
rubbing.py            dry friction at rest, also of passive joints
contact.py            friction, stops and impacts together
methods.py            the methods of integration, and what each can do
stepping.py           the steps they are made of
"""
