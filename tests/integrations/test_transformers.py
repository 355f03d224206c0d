"""The callback in Hugging Face's Trainer: the recording holds what accelerate moves before a step begins."""

import pytest

pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

# 12 batches of 2, of which accumulation makes fewer steps. The batch is "moved" where accelerate moves it.
TRAIN = """
import accelerate.data_loader, transformers
from turnpike.integrations.transformers import TurnpikeCallback
warnings.filterwarnings("ignore")

place = accelerate.data_loader.send_to_device
def moved(batch, *arguments, **options):
    upload(3)
    return place(batch, *arguments, **options)
accelerate.data_loader.send_to_device = moved

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)
        self.calls = 0
    def forward(self, x, labels=None):
        upload(1000 + self.calls)
        self.calls += 1
        return {"loss": self.net(x).sum()}

def train(callback, **options):
    rows = [{"x": torch.rand(4), "labels": 0} for _ in range(24)]
    arguments = transformers.TrainingArguments(
        "out", use_cpu=True, per_device_train_batch_size=2, num_train_epochs=1, report_to=[], disable_tqdm=True,
        save_strategy="no", logging_strategy="no", **options,
    )
    trainer = transformers.Trainer(Model(), arguments, train_dataset=rows, callbacks=[callback])
    trainer.train()
"""


def test_steps_have_the_batches_that_accelerate_moves_before_they_begin(program, tmp_path):
    shown, told = program(
        TRAIN + 'callback = TurnpikeCallback("run.tpk", range(4, 9))\ntrain(callback)\ntell(callback.report)\n'
    )
    assert told["sizes"] == {**{str(1000 + index): 1 for index in range(4, 9)}, "3": 5}
    assert (told["steps"], told["source"]) == (5, "nvtx:train_step")
    assert "CPU > GPU" in shown and len(list((tmp_path / "run.tpk").glob("*.tpt"))) == 1


def test_a_step_of_several_batches_is_one(program):
    _, told = program(
        TRAIN
        + 'callback = TurnpikeCallback("run.tpk", range(1, 5), show=False)\n'
        + "train(callback, gradient_accumulation_steps=2)\ntell(callback.report)\n"
    )
    assert told["sizes"] == {**{str(1000 + index): 1 for index in range(2, 10)}, "3": 8}
    assert told["steps"] == 4


def test_the_first_step_can_be_recorded_with_its_batch(program):
    _, told = program(TRAIN + 'c = TurnpikeCallback("run.tpk", range(0, 4), show=False)\ntrain(c)\ntell(c.report)\n')
    assert told["sizes"] == {**{str(1000 + index): 1 for index in range(4)}, "3": 4}


def test_a_training_of_another_length_and_a_second_one(program, tmp_path):
    _, told = program(
        TRAIN
        + """
callback = TurnpikeCallback("run.tpk", range(10, 30), show=False)
train(callback)
first = callback.report
train(callback)
assert first is not callback.report
tell(callback.report)
"""
    )
    assert told["sizes"] == {"1010": 1, "1011": 1, "3": 2}
    assert len(list((tmp_path / "run.tpk").glob("*.tpt"))) == 2
