"""Closed forms for people: B, C, g and τ in the letters of S.

ring.py         polynomials in symbols, sines and cosines, with s² → 1 − c²
names.py        which letter each number of a robot gets
model.py        a robot with letters for numbers
closed_form.py  B by composite inertias, C by Christoffel symbols, g, friction
write.py        sums as S groups them; text, LaTeX and SymPy made from one tree
present.py      Equations: what ``arm.equations()`` gives
mapped.py       the same in coordinates that are linear in those of the tree
harmonics.py    closed forms in numbers, on the tape: what makes coupled arms lighter
"""
