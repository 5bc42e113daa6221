"""The equations of the two documents, one formulation per file, in the documents' letters.

Everything here is plain Python on scalars: floats give numbers, traced expressions give a graph.
S is the textbook chapter and M the paper whose equation numbers the docstrings cite.
"""
