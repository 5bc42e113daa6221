"""Tests lie in folders of their rooms, and take helpers from this folder and from one another."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [
    str(folder)
    for folder in (HERE, *sorted(HERE.glob("*")), *sorted(HERE.glob("*/*")))
    if folder.is_dir() and str(folder) not in sys.path
]
