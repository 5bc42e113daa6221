"""Files from and for users: read within stated limits, and written as a whole or not at all."""

from dalembert.base.files.reading import line_blocks, open_bounded, read_bounded
from dalembert.base.files.writing import HTML, check_writable, whole_binary_file, whole_file

__all__ = ["HTML", "check_writable", "line_blocks", "open_bounded", "read_bounded", "whole_binary_file", "whole_file"]
