"""Random tensors of every shape, dtype and stride that the calls have to bring over right."""

import torch

DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.complex64, torch.complex128,
]  # fmt: skip


def random_tensor(rng, limit_bytes=4 << 20):
    """A tensor on the host of up to about `limit_bytes`: mostly small, dense or with gaps, pinned or not."""
    dtype = rng.choice(DTYPES)
    items = max(1, int(2 ** rng.uniform(0, max(1, (limit_bytes // dtype.itemsize).bit_length() - 1))))
    sizes = []
    while items > 1 and len(sizes) < 4:
        sizes.append(rng.randint(1, max(1, round(items ** rng.choice([0.3, 0.5, 1.0])))))
        items //= sizes[-1]
    tensor = random_bytes(rng, sizes, dtype)
    change = rng.random()
    if change < 0.15 and tensor.dim() > 1:
        tensor = tensor.transpose(0, -1)
    elif change < 0.3 and tensor.dim() > 0:
        tensor = tensor[..., :: rng.randint(1, 3)]
    elif change < 0.35 and tensor.dim() == 4:
        tensor = tensor.contiguous(memory_format=torch.channels_last)
    elif change < 0.4 and tensor.dim() > 0:
        tensor = tensor[:1].expand(rng.randint(1, 9), *tensor.shape[1:])
    elif change < 0.43:
        tensor = tensor[..., :0] if tensor.dim() else tensor
    if rng.random() < 0.2 and tensor.numel():
        tensor = tensor.contiguous().pin_memory()
    return tensor


def random_bytes(rng, sizes, dtype):
    generator = torch.Generator().manual_seed(rng.getrandbits(48))
    if dtype is torch.bool:
        return torch.randint(0, 2, sizes, dtype=torch.uint8, generator=generator).bool()
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(sizes, dtype=torch.float32, generator=generator).to(dtype)
    return torch.randint(-100 if dtype.is_signed else 0, 100, sizes, generator=generator).to(dtype)


def assert_same(ours, theirs):
    """Every property that a program can see is the same."""
    assert type(ours) is type(theirs)
    assert (ours.dtype, ours.shape, ours.stride(), ours.device) == (
        theirs.dtype, theirs.shape, theirs.stride(), theirs.device
    )  # fmt: skip
    assert ours.requires_grad == theirs.requires_grad
    assert torch.equal(ours.detach().cpu(), theirs.detach().cpu())
