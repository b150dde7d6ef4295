"""Real installations and what must hold on them, one file a theme; ``test_cNN_...`` is scenario NN."""
