"""Arrays of other libraries: PyTorch, JAX and CuPy in, the same kind out, with derivatives."""
