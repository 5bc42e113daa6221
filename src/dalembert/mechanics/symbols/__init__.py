"""Closed-form equations for reading: B, C, g and τ in the notation of S, and their derivation.

ring.py                 polynomials in symbols, sines and cosines, with s² → 1 − c²
names.py                the symbol for each number of a robot, called its letter
laws.py                 further friction terms: their laws evaluated on SymPy expressions
symbolic_mechanism.py   a robot with symbols for numbers, and its mechanism
closed_form.py          B, Christoffel symbols, g and U: mechanics/equations evaluated on polynomials
body_symbols.py         every link and rotor separately: Lagrange's equations evaluated on polynomials
symbolic_recursion.py   the Newton–Euler recursion evaluated on polynomials
symbolic_regressor.py   Y and π of τ = Y π
mapped.py               the same in coordinates that are linear in those of the tree
differences.py          letters for lengths that occur only as a difference: S 7.3.3's ℓ̄_3'
grouped_sums.py         sums grouped as in S
write.py, printers.py   their notation: text and LaTeX
sympy_form.py           the same as SymPy
present.py              Equations, the result of ``arm.equations()``: SymPy, LaTeX, text and numbers
derivation.py           the steps from Jacobians to torques, as a page
conditions.py           what makes a coefficient vanish for every q
of_robot.py             equations_of: from a robot to its equations, through all of these
hidden_parameters.py    the changes of parameters that no motion reveals, from which base parameters follow
"""
