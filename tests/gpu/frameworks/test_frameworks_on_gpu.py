"""The callbacks of Lightning and Hugging Face's Trainer on a GPU: the steps of the range, with their uploads."""

import os

import pytest

# On several GPUs the Trainer of Hugging Face takes one batch for each, so fewer steps.
os.environ["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]

STEPS = range(5, 15)
ROWS = 40


@pytest.fixture(autouse=True)
def gpu(monkeypatch, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def uploads(report, library):
    """How many transfers, and how many bytes, a library's lines uploaded."""
    sites = [site for site in report.sites if site.direction == "h2d" and library in (site.library_site or site.site)]
    return sum(site.count for site in sites), sum(site.bytes for site in sites)


def check_steps(report):
    assert (report.steps.count, report.steps.source) == (len(STEPS), "nvtx:train_step")
    assert report.losses == {}


@pytest.mark.parametrize("has_hooks", [False, True])
def test_lightning(has_hooks):
    lightning = pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")
    import torch

    from turnpike.integrations.lightning import TurnpikeCallback, TurnpikeDataHooks

    class Model(*([TurnpikeDataHooks] if has_hooks else []), lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Linear(1000, 1)

        def training_step(self, batch, index):
            assert batch.is_cuda
            return self.net(batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-3)

    callback = TurnpikeCallback("run.tpk", STEPS)
    trainer = lightning.Trainer(
        accelerator="gpu", devices=1, max_epochs=1, callbacks=[callback], logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.rand(ROWS, 1000), batch_size=2))
    check_steps(callback.report)
    batches = [site for site in callback.report.sites if site.direction == "h2d" and site.bytes >= site.count * 8000]
    assert sum(site.bytes for site in batches) == len(STEPS) * 2 * 1000 * 4, callback.report


def test_the_trainer_of_hugging_face():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    import torch

    from turnpike.integrations.transformers import TurnpikeCallback

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Linear(1000, 1)

        def forward(self, x, labels=None):
            assert x.is_cuda
            return {"loss": self.net(x).sum()}

    rows = [{"x": torch.rand(1000), "labels": 0} for _ in range(ROWS)]
    arguments = transformers.TrainingArguments(
        "out", per_device_train_batch_size=1, gradient_accumulation_steps=2, num_train_epochs=1, report_to=[],
        disable_tqdm=True, save_strategy="no", logging_strategy="no", max_grad_norm=0,
    )  # fmt: skip
    callback = TurnpikeCallback("run.tpk", STEPS)
    transformers.Trainer(Model(), arguments, train_dataset=rows, callbacks=[callback]).train()
    check_steps(callback.report)
    count, size = uploads(callback.report, "accelerate")  # moved before on_step_begin
    batches = 2 * len(STEPS)
    assert count == 2 * batches and size == batches * (1000 * 4 + 8), callback.report
