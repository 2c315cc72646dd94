"""Temperatures, thresholds with guarantees, policies and checks, fitted on labelled states."""
