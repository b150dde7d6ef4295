"""Coverage-guided fuzzing of parser, names, places and states, and the oracles that tests share with it."""
