"""The callback and the hooks in Lightning: what is recorded, and where batches move."""

import importlib.util

import pytest

# Only programs import it: here that would take each process of the tests five seconds.
if importlib.util.find_spec("lightning") is None:
    pytest.skip("Lightning is not installed", allow_module_level=True)

IMPORTED = ["torch", "pyarrow", "lightning.pytorch"]

# In a fit: 10 batches, a sanity check and a validation.
FIT = """
import lightning.pytorch as lightning
from turnpike.integrations.lightning import TurnpikeCallback, TurnpikeDataHooks

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)
    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        upload(3 if self.trainer.training else 7)
        return super().transfer_batch_to_device(batch, device, dataloader_idx)
    def training_step(self, batch, index):
        upload(1000 + index)
        if index == FAIL_AT: raise KeyError("its own")
        return self.net(batch).sum()
    def validation_step(self, batch, index):
        upload(7)
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-3)

def fit(*callbacks, **options):
    loader = torch.utils.data.DataLoader(torch.rand(20, 4), batch_size=2)
    quiet = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer = lightning.Trainer(accelerator="cpu", callbacks=list(callbacks), **{"max_epochs": 1, **quiet, **options})
    trainer.fit(Model(), loader, torch.utils.data.DataLoader(torch.rand(4, 4), batch_size=2))

warnings.filterwarnings("ignore", module="lightning|torch")
FAIL_AT = -1
"""


def test_the_steps_of_the_range_are_recorded_with_the_moves_of_their_batches(program, tmp_path):
    shown, told = program(
        FIT
        + """
callback = TurnpikeCallback("run.tpk", range(3, 8))
fit(callback)
tell(callback.report)
"""
    )
    steps = {str(1000 + index): 1 for index in range(3, 8)}
    assert told["sizes"] == {**steps, "3": 5}  # no sanity check and no validation
    assert (told["steps"], told["source"]) == (5, "nvtx:train_step")
    assert len(list((tmp_path / "run.tpk").glob("*.tpt"))) == 1
    assert ": up " in shown and "turnpike report run.tpk" in shown


def test_epochs_count_on_and_nothing_is_shown_unless_asked(program):
    shown, told = program(
        FIT
        + """
callback = TurnpikeCallback("run.tpk", range(8, 13), show=False)
fit(callback, max_epochs=2, num_sanity_val_steps=0, limit_val_batches=0)
tell(callback.report)
"""
    )
    assert told["sizes"] == {"1008": 1, "1009": 1, "1000": 1, "1001": 1, "1002": 1, "3": 5}
    assert ": up " not in shown


def test_a_fit_that_ends_in_the_range_has_a_report_and_one_that_ends_before_has_none(program):
    _, told = program(FIT + 'c = TurnpikeCallback("a.tpk", range(6, 99), show=False)\nfit(c)\ntell(c.report)\n')
    assert {"1006", "1009"} <= set(told["sizes"]) and "1005" not in told["sizes"]
    _, told = program(FIT + 'c = TurnpikeCallback("b.tpk", range(50, 99), show=False)\nfit(c)\ntell(c.report)\n')
    assert told is None


def test_an_exception_passes_and_what_was_recorded_is_kept(program):
    _, told = program(
        FIT
        + """
FAIL_AT = 5
callback = TurnpikeCallback("run.tpk", range(3, 8))
try:
    fit(callback)
except KeyError as error:
    assert "its own" in str(error)
else:
    raise AssertionError("the exception is gone")
import turnpike
assert not turnpike.is_recording()
tell(turnpike.report("run.tpk"))
"""
    )
    assert told["sizes"] == {"1003": 1, "1004": 1, "1005": 1, "3": 3}


def test_without_a_gpu_the_training_goes_on_and_says_why_nothing_is_recorded(program):
    shown, told = program(
        FIT
        + """
callback = TurnpikeCallback("run.tpk", range(3, 8))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fit(callback)
print([str(one.message) for one in caught if "Turnpike records nothing" in str(one.message)])
tell(callback.report)
""",
        has_gpu=False,
    )
    assert told is None and shown.count("Turnpike records nothing of this training: ") == 1


def test_a_context_is_entered_for_each_step_of_the_range_even_without_a_gpu(program):
    _, told = program(
        FIT
        + """
import contextlib
seen = []
@contextlib.contextmanager
def each():
    seen.append("in")
    yield
    seen.append("out")
warnings.simplefilter("ignore")
fit(TurnpikeCallback("run.tpk", range(3, 6), each_step=each))
print(json.dumps(seen))
""",
        has_gpu=False,
    )
    assert told == ["in", "out"] * 3


def test_under_the_command_the_callback_marks_steps_and_records_nothing_itself(program, tmp_path):
    _, told = program(
        FIT
        + """
import turnpike
with turnpike.record("outer.tpk"):
    callback = TurnpikeCallback("run.tpk", range(3, 8))
    fit(callback, num_sanity_val_steps=0, limit_val_batches=0)
assert callback.report is None
tell(turnpike.report("outer.tpk"))
"""
    )
    assert told["sizes"]["3"] == 10 and (told["steps"], told["source"]) == (5, "nvtx:train_step")
    assert not (tmp_path / "run.tpk").exists()


def test_children_do_not_inherit_who_listens_to_nvtx(program):
    _, told = program(
        FIT
        + """
fit(TurnpikeCallback("run.tpk", range(3, 8), show=False))
print(json.dumps("NVTX_INJECTION64_PATH" in os.environ))
"""
    )
    assert told is False


@pytest.mark.parametrize("steps", ["range(0)", "range(-1, 5)", "range(0, 9, 2)"])
def test_a_range_that_is_none_is_refused_at_once(program, steps):
    _, told = program(
        FIT
        + f"""
try:
    TurnpikeCallback("run.tpk", {steps})
except ValueError as error:
    print(json.dumps(str(error)))
"""
    )
    assert "no range of steps" in told


@pytest.mark.parametrize("owner", ["Model", "Data"])
def test_the_hooks_move_batches_with_turnpike(program, owner):
    _, told = program(
        FIT
        + f"""
import turnpike.integrations.lightning as ours
moved = []
def to(batch, device):
    moved.append(str(device))
    return batch
ours.to = to

class Data(*([TurnpikeDataHooks] if "{owner}" == "Data" else []), lightning.LightningDataModule):
    def train_dataloader(self):
        return torch.utils.data.DataLoader(torch.rand(6, 4), batch_size=2)

class Own(*([TurnpikeDataHooks] if "{owner}" == "Model" else []), Model):
    transfer_batch_to_device = TurnpikeDataHooks.transfer_batch_to_device if "{owner}" == "Model" else (
        lightning.LightningModule.transfer_batch_to_device)

trainer = lightning.Trainer(accelerator="cpu", max_epochs=1, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Own(), datamodule=Data())
print(json.dumps(moved))
"""
    )
    assert told == ["cpu"] * 3


def test_a_batch_that_the_hooks_move_is_the_batch(program):
    _, told = program(
        FIT
        + """
batch = {"x": torch.arange(4), "name": "a", "nest": [torch.ones(2), (torch.zeros(1),)]}
class Own(TurnpikeDataHooks, lightning.LightningModule): pass
moved = Own().transfer_batch_to_device(batch, torch.device("cpu"), 0)
print(json.dumps([moved["x"].tolist(), moved["name"], moved["nest"][0].tolist(), type(moved["nest"][1]).__name__]))
"""
    )
    assert told == [[0, 1, 2, 3], "a", [1.0, 1.0], "tuple"]


def test_the_older_package_is_taken_where_a_program_uses_it(program):
    _, told = program(
        """
import pytorch_lightning
from turnpike.integrations.lightning import TurnpikeCallback
print(json.dumps([issubclass(TurnpikeCallback, pytorch_lightning.Callback), "lightning.pytorch" in sys.modules]))
""",
        is_fresh=True,
    )
    assert told == [True, False]
