"""Hugging Face's Trainer: a small BERT that fills in masked words, with gradient accumulation."""

from __future__ import annotations

import tempfile
from typing import Any

import torch
from common import Clock, Trained, Wrap, exactly, seed_all

NEEDS = ("transformers", "tokenizers", "accelerate")
WORDS = 200


def _tokenizer() -> Any:
    import tokenizers
    import transformers

    special = ["[PAD]", "[UNK]", "[MASK]", "[CLS]", "[SEP]"]
    vocabulary = {word: index for index, word in enumerate(special + [f"w{index}" for index in range(WORDS)])}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]", cls_token="[CLS]",
        sep_token="[SEP]",
    )  # fmt: skip


def train(wrap: Wrap, device: torch.device) -> Trained:
    import transformers

    seed_all(1)
    tokenizer = _tokenizer()
    texts = [" ".join(f"w{(7 * line + word) % WORDS}" for word in range(5 + line % 40)) for line in range(96)]
    rows = [dict(tokenizer(text)) for text in texts]
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128
    )
    model = transformers.BertForMaskedLM(config)
    losses = []

    class Trainer(transformers.Trainer):
        def get_train_dataloader(self) -> Any:
            loader = super().get_train_dataloader()
            return loader if wrap is None else wrap(loader)

        def compute_loss(self, *arguments: Any, **keywords: Any) -> Any:
            found = super().compute_loss(*arguments, **keywords)
            losses.append((found[0] if isinstance(found, tuple) else found).detach().clone())
            return found

    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder, per_device_train_batch_size=8, gradient_accumulation_steps=2, num_train_epochs=2,
            learning_rate=1e-3, report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True,
            use_cpu=device.type == "cpu", seed=1,
        )  # fmt: skip
        collator = transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.3)
        trainer = Trainer(model=model, args=arguments, train_dataset=rows, data_collator=collator)
        clock = Clock(device)
        result = trainer.train()
        step_ms = clock.step_ms(len(losses))
    numbers = exactly(losses) + [f"{result.global_step} optimizer steps"]
    return Trained(numbers, model, step_ms)
