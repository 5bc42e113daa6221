"""Arrays of other libraries: PyTorch, JAX and CuPy arrays in, arrays of the same library out, with derivatives."""
