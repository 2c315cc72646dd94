"""State and questions to token rows with slots: the only place that knows wording."""
