"""Maze, snake and noisy actuator: states, dynamics and exact answers.

May import the runtime's random numbers and ``tables`` alone.
"""
