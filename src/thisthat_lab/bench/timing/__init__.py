"""What measurements of time share: workloads, alternating runs, growth, servers and devices.

May import ``bench.result``, ``bench.systems``, ``train`` and the runtime.
"""
