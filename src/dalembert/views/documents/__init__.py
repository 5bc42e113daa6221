"""The map of the two documents: every numbered equation, figure, example, table, remark and problem, with its call."""
