"""Every generated answer worked out a second time, from what the model reads.

The readers here know the vocabulary of the suites (names of fields, the values they can have) and
English; they call nothing that draws, solves or writes an item. What is not stated is tried out
with every value that could matter.
"""
