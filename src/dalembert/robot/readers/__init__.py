"""Robot files and tables: readers and writers."""
