"""Closed-form equations for reading: B, C, g and τ in the letters of S, and their derivation.

ring.py         polynomials in symbols, sines and cosines, with s² → 1 − c²
names.py        the letter for each number of a robot
laws.py         further friction terms: their laws evaluated on SymPy expressions
printers.py     these expressions in our letters, as LaTeX and as text
model.py        a robot with letters for numbers
closed_form.py  B by composite inertias, C by Christoffel symbols, g, friction
bodies.py       every link and rotor separately: Lagrange's equations evaluated on these letters
differences.py  letters for lengths that occur only as a difference: S 7.3.3's ℓ̄_3'
write.py        sums grouped as in S; text and LaTeX
sympy_form.py   the same as SymPy
mapped.py       the same in coordinates that are linear in those of the tree
recursion.py    the Newton–Euler recursion in letters
present.py      Equations, the result of ``arm.equations()``: SymPy, LaTeX, text and numbers
regressor.py    Y and π of τ = Y π
derivation.py   the steps from Jacobians to torques, as a page
of_robot.py     equations_of: from a robot to its equations, through all of these
harmonics.py    closed forms with numbers, on the tape, which make coupled arms cheaper
"""
