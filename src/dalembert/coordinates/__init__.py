"""From the coordinates that are held to those of the tree: q = γ(y), Γ = ∂γ/∂y, Γ̇, and every quantity pulled back.

loops.py    what a closed chain asks of the joints of its tree, and of their velocities
closure.py  γ of a robot: linear, by triangles, or by Newton's method
chain.py    γ, Γ and Γ̇ at one state
pulled.py   every quantity in y from that of the tree
"""
