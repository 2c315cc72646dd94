"""Maze, snake and noisy actuator: states, dynamics, exact answers and how they are written."""
