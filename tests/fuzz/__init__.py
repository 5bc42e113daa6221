"""Fuzzing of everything that reads: a table of targets, a judge of each input, and two ways of making inputs.

``make soak`` runs every target for its share of the time (``tests/soak.py``); ``tests/test_fuzz.py`` tries a few
inputs of each in ``make test``. With ``atheris`` installed (``pip install -e ".[test,soak]"``) inputs are sought by
coverage of the package; without it a corpus is mutated at random, and inputs with a new answer join it.
"""
