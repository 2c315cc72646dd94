"""The laboratory: training, suites, worlds and measurements. The runtime never imports it."""
