"""Moving tensors between host memory and GPUs: one call a file. The first that needs PyTorch imports it."""
