"""Numbers, vectors and matrices of three: on floats, traced expressions and symbols alike."""
