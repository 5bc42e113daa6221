"""Numbers, vectors and 3×3 matrices: on floats, traced expressions and symbols alike.

:class:`Vec` and :class:`Mat` have the operators of the printed equations, so that the acceleration of a link's frame,
S (7.109), reads in code as it is printed. On floats it gives numbers, without a compiler and without NumPy:

>>> from dalembert.base.algebra.vectors import Vec, rotation_about
>>> R = rotation_about(Vec((0.0, 0.0, 1.0)), 0.0)
>>> r, omega, omega_dot = Vec((0.5, 0.0, 0.0)), Vec((0.0, 0.0, 2.0)), Vec((0.0, 0.0, 4.0))
>>> pdd = Vec((0.0, 9.81, 0.0))
>>> R.T @ pdd + omega_dot.cross(r) + omega.cross(omega.cross(r))
(-2.0, 11.81, 0.0)
"""
