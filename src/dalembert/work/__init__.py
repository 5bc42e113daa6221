"""What is done with an arm: logs, motions, simulation, identification, analysis, sizing."""
