"""Moving tensors between host memory and GPUs: one call per file. PyTorch is imported by the first one that needs it."""
