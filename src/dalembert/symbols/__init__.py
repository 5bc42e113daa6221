"""Closed forms for people: B, C, g and τ in the letters of S.

ring.py         polynomials in symbols, sines and cosines, with s² → 1 − c²
names.py        which letter each number of a robot gets
laws.py         further terms of friction: their laws run on SymPy's expressions
printers.py     these expressions in our letters, as LaTeX and as text
model.py        a robot with letters for numbers
closed_form.py  B by composite inertias, C by Christoffel symbols, g, friction
write.py        sums as S groups them; text, LaTeX and SymPy made from one tree
mapped.py       the same in coordinates that are linear in those of the tree
recursion.py    the Newton–Euler recursion in letters
present.py      Equations: what ``arm.equations()`` gives, as SymPy, LaTeX, text and numbers
of_robot.py     equations_of: the way from a robot through all of these
harmonics.py    closed forms in numbers, on the tape: what makes coupled arms lighter
"""
