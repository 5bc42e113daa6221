"""What an arm and its motions are like: terms, properties, sizing."""
