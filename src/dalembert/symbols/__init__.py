"""Closed forms for people: B, C, g and τ in the letters of S, and the way to them.

ring.py         polynomials in symbols, sines and cosines, with s² → 1 − c²
names.py        which letter each number of a robot gets
laws.py         further terms of friction: their laws run on SymPy's expressions
printers.py     these expressions in our letters, as LaTeX and as text
model.py        a robot with letters for numbers
closed_form.py  B by composite inertias, C by Christoffel symbols, g, friction
bodies.py       every link and rotor by itself: Lagrange's equations run on these letters
differences.py  letters for lengths that occur only as a difference: S 7.3.3's ℓ̄_3'
write.py        sums as S groups them; text and LaTeX
sympy_form.py   the same as SymPy
mapped.py       the same in coordinates that are linear in those of the tree
recursion.py    the Newton–Euler recursion in letters
present.py      Equations: what ``arm.equations()`` gives, as SymPy, LaTeX, text and numbers
regressor.py    Y and π of τ = Y π
derivation.py   the steps from Jacobians to torques, as a page
of_robot.py     equations_of: the way from a robot through all of these
harmonics.py    closed forms in numbers, on the tape: what makes coupled arms lighter
"""
