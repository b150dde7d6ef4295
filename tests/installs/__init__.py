"""Real installations and what must hold on them: one file a theme; numbers are those of the scenarios in safety."""
