"""Whatever answers questions: our engines, baselines, endpoints, other ways with the same model."""
