"""What the pages take for granted: the names before a block, what calls the functions that it defines, and train.py."""

from __future__ import annotations

# A page is about them; a machine may lack them.
OPTIONAL = ("lightning", "transformers", "accelerate", "ray")

# Trains for a few steps on synthetic data, on the GPU if there is one.
TRAIN = """\
import os
import torch

gpus = torch.cuda.device_count()
device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)) % gpus) if gpus else torch.device("cpu")
net = torch.nn.Linear(1000, 10).to(device)
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
for _ in range(20):
    loss = net(torch.rand(64, 1000).to(device)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item())
"""

_LIGHTNING = """\
import torch
from lightning.pytorch import LightningModule, Trainer

class GivenModel(LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(1000, 1)

    def training_step(self, batch, index):
        return self.net(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-3)

model, loader = GivenModel(), torch.utils.data.DataLoader(torch.rand(80, 1000), batch_size=2)
"""

_LIGHTNING_TRAINED = """\
from turnpike.integrations.lightning import TurnpikeCallback
callback = TurnpikeCallback("run.tpk", range(10, 30))
trainer = Trainer(max_epochs=1, callbacks=[callback])
trainer.fit(model, loader)
if callback.report is None:
    raise SystemExit("nothing was recorded")
"""

_TRANSFORMERS = """\
import torch
from transformers import Trainer, TrainingArguments
from turnpike.integrations.transformers import TurnpikeCallback

class GivenModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(1000, 1)

    def forward(self, x, labels=None):
        return {"loss": self.net(x).sum()}

model, rows = GivenModel(), [{"x": torch.rand(1000), "labels": 0} for _ in range(80)]
arguments = TrainingArguments(
    "out", per_device_train_batch_size=2, num_train_epochs=1, report_to=[], save_strategy="no"
)
"""

_ACCELERATE = """\
import torch
import turnpike as tp
from accelerate import Accelerator

accelerator = Accelerator()
model = torch.nn.Linear(1000, 1)
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
loader = torch.utils.data.DataLoader(torch.rand(80, 1000), batch_size=2)

def train_step(batch):
    loss = model(batch.to(accelerator.device)).sum()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
"""

_PREPARED = _ACCELERATE + "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n"

_WORKER = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(1000, 1).to(device)
loader = torch.utils.data.DataLoader(torch.rand(80, 1000), batch_size=2)

def train_step(batch):
    net(batch.to(device)).sum().backward()
"""


def around(page: str, text: str) -> tuple[str, str]:
    """The code that runs before a block, and the code that runs after it."""
    if page == "lightning.md":
        return _LIGHTNING + (_LIGHTNING_TRAINED if text.startswith("callback.") else ""), ""
    if page == "hugging_face.md":
        if "Trainer(" in text:
            return _TRANSFORMERS, ""
        return _ACCELERATE if "accelerator.prepare" in text else _PREPARED, ""
    if "def train_loop" in text:
        return _WORKER, "train_loop({})\n"
    return "", ""


def needed_by(command: str) -> list[str]:
    """The launchers that a command starts with or records."""
    return [name for name in ("srun", "torchrun", "accelerate") if command.startswith(name) or f"-- {name} " in command]
