"""What can be typed after ``dalembert``: arguments and options; the work is done by the modules one floor up."""
