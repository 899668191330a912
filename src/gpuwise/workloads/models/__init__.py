"""Reference models in pure torch: own files, versioned with their workload, no weights.

A library's model changes under the same name, and a mask built while tracing can silently lose
flash attention under torch.compile; these do not. Importing this package imports torch.
"""
