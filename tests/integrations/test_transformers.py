"""The callback in Hugging Face's Trainer: the recording holds what accelerate moves before a step begins."""

import importlib.util

import pytest

for name in ("transformers", "accelerate"):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed", allow_module_level=True)

IMPORTED = ["torch", "pyarrow", "accelerate", "transformers.trainer"]

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
    assert ": up " in shown and len(list((tmp_path / "run.tpk").glob("*.tpt"))) == 1


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


FAILING = (
    TRAIN
    + """
import contextlib
entered = []
class Step(contextlib.AbstractContextManager):
    def __enter__(self): entered.append("in")
    def __exit__(self, kind, error, traceback): entered.append(repr(error))
class Failing(Model):
    def forward(self, x, labels=None):
        if self.calls == FAIL_AT: raise KeyError("its own")
        return super().forward(x, labels)
Model = Failing
FAIL_AT = 4
"""
)


def test_an_exception_leaves_the_step_ends_the_recording_and_passes(program, tmp_path):
    _, told = program(
        FAILING
        + """
import turnpike
try:
    with TurnpikeCallback("run.tpk", range(3, 8), each_step=Step) as callback:
        train(callback)
except KeyError as error:
    assert error.args == ("its own",), error
else:
    raise AssertionError
assert not turnpike.is_recording()
assert entered == ["in", "None", "in", "KeyError('its own')"], entered
assert callback.report is None
tell(turnpike.report("run.tpk"))
"""
    )
    assert told["sizes"] == {"1003": 1, "3": 2}  # up to the line that failed, which had its batch


def test_without_with_the_next_training_ends_the_one_that_failed(program, tmp_path):
    _, told = program(
        FAILING
        + """
callback = TurnpikeCallback("run.tpk", range(3, 8), show=False, each_step=Step)
try:
    train(callback)
except KeyError:
    pass
FAIL_AT = -1
train(callback)
assert entered == ["in", "None"] * 7, entered
tell(callback.report)
"""
    )
    assert told["sizes"] == {**{str(1000 + index): 1 for index in range(3, 8)}, "3": 5}
    assert len(list((tmp_path / "run.tpk").glob("*.tpt"))) == 2


def test_a_recording_that_cannot_be_kept_does_not_hide_the_exception(program):
    program(
        FAILING
        + """
from turnpike.integrations import _steps
def failing_stop():
    stop()
    raise _steps._core.Error("the disk is full")
stop, _steps.stop = _steps.stop, failing_stop
try:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with TurnpikeCallback("run.tpk", range(3, 8)) as callback:
            train(callback)
except KeyError:
    assert any("the disk is full" in str(one.message) for one in said), said
else:
    raise AssertionError
print("null")
"""
    )
