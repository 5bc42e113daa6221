"""From equations to machine code: graph, code, kernels, the tables of quantities, other libraries' arrays."""
