"""The batches that loops over a DataLoader get: tensors, nests of one's own, and those of Hugging Face."""

from __future__ import annotations

from typing import Any

from turnpike._bench.machine import KIB, Nothing
from turnpike._bench.timing import WrongResult


class Tensors:
    """PyTorch's default: each batch is one tensor.

    collate_fn: for the DataLoader. to: PyTorch's own way with a batch. tensor: all of a batch's bytes, for comparison.
    """

    collate_fn: Any = None

    def to(self, batch: Any, device: Any, **options: Any) -> Any:
        return batch.to(device, **options)

    def tensor(self, batch: Any) -> Any:
        return batch


class Nest:
    """A collate_fn of one's own, as those for text: a batch is cut into columns, with a mask for each of them."""

    COLUMNS = 8

    def collate_fn(self, samples: list[Any]) -> dict[str, Any]:
        import torch

        columns = torch.stack(samples).chunk(self.COLUMNS, dim=1)
        masks = {f"mask {number}": column[:, :64] != 0 for number, column in enumerate(columns)}
        return {str(number): column.contiguous() for number, column in enumerate(columns)} | masks

    def to(self, batch: dict[str, Any], device: Any, **options: Any) -> dict[str, Any]:
        return {key: value.to(device, **options) for key, value in batch.items()}

    def tensor(self, batch: dict[str, Any]) -> Any:
        import torch

        return torch.cat([batch[str(number)] for number in range(self.COLUMNS)], dim=1)


class Encodings:
    """What a tokenizer's collator of Hugging Face returns. Raises Nothing without transformers."""

    COLUMNS = ("input_ids", "attention_mask", "token_type_ids", "labels")
    ITEM_BYTES = len(COLUMNS) * 4 * KIB  # 512 tokens, of int64

    def __init__(self) -> None:
        try:
            from transformers import BatchEncoding
        except ImportError:
            raise Nothing("batches of Hugging Face need transformers, which is not installed here") from None
        self.kind = BatchEncoding

    def collate_fn(self, samples: list[Any]) -> Any:
        import torch

        columns = torch.stack(samples).view(torch.int64).chunk(len(self.COLUMNS), dim=1)
        return self.kind({name: column.contiguous() for name, column in zip(self.COLUMNS, columns, strict=True)})

    def to(self, batch: Any, device: Any, **options: Any) -> Any:
        return batch.to(device, **options)

    def tensor(self, batch: Any) -> Any:
        import torch

        if type(batch) is not self.kind:
            raise WrongResult(f"a batch arrived as {type(batch).__name__}, not as {self.kind.__name__}")
        return torch.cat([batch[name] for name in self.COLUMNS], dim=1).view(torch.int32)
