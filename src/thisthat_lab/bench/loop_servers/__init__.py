"""What ``bench loop`` measures on real servers: their processor time, rollbacks, lost outcomes."""
