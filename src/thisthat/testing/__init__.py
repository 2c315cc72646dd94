"""Decisions under test: cases with an expected option, run against any checkpoint or server."""
