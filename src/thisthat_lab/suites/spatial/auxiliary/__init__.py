"""Families for training alone: quantities that the benchmark families are made of."""
