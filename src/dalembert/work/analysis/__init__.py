"""Analysis of arms and motions: torque terms, properties, sizing."""
