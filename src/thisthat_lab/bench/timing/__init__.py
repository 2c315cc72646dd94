"""What measurements of time share: workloads, turns, growth, servers and devices."""
