"""From the coordinates that are held to those of the tree: q = γ(y), Γ = ∂γ/∂y, Γ̇, and every quantity pulled back.

loops.py      what a closed chain asks of the joints of its tree, and of their velocities
triangles.py  loops that are closed by a triangle
formula.py    joints that follow others by formulas
closure.py    how the joints of a robot's tree follow: linearly, by polynomials, formulas, triangles or Newton's method
chain.py      γ, Γ and Γ̇ at one state
placing.py    γ in numbers, and what to say where there is none
pulled.py     every quantity in y from that of the tree
"""
