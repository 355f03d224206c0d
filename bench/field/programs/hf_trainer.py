"""Hugging Face's Trainer: a small BERT classifies sequences; its arguments are those of the first tutorial."""

import tempfile

import torch
import transformers
from _clock import Clock, arguments

import turnpike as tp

FIXES = ["workers", "prefetch", "compile-model", "log-less"]


class Sentences(torch.utils.data.Dataset):
    """Token numbers as a tokenizer gives them: lists of whole numbers."""

    def __init__(self, length, tokens, vocabulary):
        random = torch.Generator().manual_seed(1)
        self.rows = torch.randint(vocabulary, (length, tokens), generator=random).tolist()

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        ids = self.rows[index]
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": index % 2}


class Prefetching(transformers.Trainer):
    def get_train_dataloader(self):
        return tp.prefetch(super().get_train_dataloader(), self.args.device)


class Ticks(transformers.TrainerCallback):
    def __init__(self, clock):
        self.clock = clock

    def on_step_end(self, args, state, control, **kwargs):
        self.clock.step()


def main():
    args = arguments(__doc__, FIXES)
    config = transformers.BertConfig(
        vocab_size=1000, hidden_size=64 if args.small else 256, num_hidden_layers=2 if args.small else 4,
        num_attention_heads=4, intermediate_size=128 if args.small else 1024,
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(config)
    options = {}
    if "workers" in args.fix:
        options |= {"dataloader_num_workers": args.num_workers, "dataloader_persistent_workers": True}
    if "compile-model" in args.fix:
        options |= {"torch_compile": True, "torch_compile_mode": "reduce-overhead"}
    if "log-less" in args.fix:
        options |= {"logging_nan_inf_filter": False, "logging_steps": 500}
    with tempfile.TemporaryDirectory() as folder:
        training = transformers.TrainingArguments(
            **{"output_dir": folder, "per_device_train_batch_size": 4 if args.small else 32, "max_steps": args.steps,
               "logging_steps": 10, "save_strategy": "no", "report_to": [], "disable_tqdm": True,
               "use_cpu": args.device == "cpu", "seed": 0} | options
        )  # fmt: skip
        trainer_class = Prefetching if "prefetch" in args.fix or "workers" in args.fix else transformers.Trainer
        clock = Clock(args)
        trainer = trainer_class(
            model=model, args=training, train_dataset=Sentences(4096, 32 if args.small else 128, 1000),
            callbacks=[Ticks(clock)],
        )  # fmt: skip
        result = trainer.train()
    clock.finish(result.training_loss)


if __name__ == "__main__":
    main()
