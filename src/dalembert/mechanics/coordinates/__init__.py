"""From independent coordinates to those of the tree: q = γ(y), Γ = ∂γ/∂y, Γ̇, and every quantity pulled back.

loop_closure.py         constraint equations of closed chains, for positions and velocities
triangles.py            loops that are closed by a triangle
formula.py              joints that follow others by formulas
closure.py              how the dependent joints follow: linearly, by polynomials, formulas, triangles or Newton's method
chain.py                γ, Γ and Γ̇ at one state
placing.py              γ in numbers, and error messages where it does not exist
pulled.py               every quantity in y from that of the tree
variable_parameters.py  the same mechanism with other numbers
"""
