"""Hugging Face's generate(): a small GPT-2 continues eight prompts at a time, and the tokens are read on the CPU."""

import torch
import transformers
from _clock import Clock, arguments

import turnpike as tp

FIXES = ["compile-model", "fetch", "prefetch"]


def prompts(count, length, vocabulary):
    random = torch.Generator().manual_seed(1)
    for _ in range(count):
        ids = torch.randint(3, vocabulary, (8, length), generator=random)
        yield {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def main():
    args = arguments(__doc__, FIXES, steps=30)
    config = transformers.GPT2Config(
        vocab_size=1000, n_positions=128, n_embd=64 if args.small else 512, n_layer=2 if args.small else 6,
        n_head=4 if args.small else 8, bos_token_id=0, eos_token_id=0, pad_token_id=0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).to(args.device).eval()
    options = {"max_new_tokens": 4 if args.small else 24, "do_sample": False, "use_cache": True}
    if "compile-model" in args.fix:
        # generate() compiles the model by itself then, with mode="reduce-overhead"; compiled by hand as well, it fails.
        options["cache_implementation"] = "static"
    batches = prompts(args.steps, 16, config.vocab_size)
    if "prefetch" in args.fix:
        batches = tp.prefetch(batches, args.device)
    clock, produced, pending = Clock(args), 0, None
    for batch in batches:
        batch = {name: value.to(args.device) for name, value in batch.items()}
        tokens = model.generate(**batch, **options)
        if "fetch" in args.fix:
            if pending is not None:
                produced += int(pending.result().sum())
            pending = tp.fetch(tokens)
        else:
            produced += int(tokens.cpu().sum())
        clock.step(produced)
    clock.finish()


if __name__ == "__main__":
    main()
