"""Trainers of other libraries over tp.prefetch: the same losses, or a clear refusal. Nothing crosses here."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there is nothing to train")

import turnpike as tp  # noqa: E402
from loop_stand_in import let_nothing_cross  # noqa: E402

HERE = torch.device("cpu")


@pytest.fixture(autouse=True)
def _nothing_crosses(monkeypatch):
    let_nothing_cross(monkeypatch.setattr)


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 22

    def __getitem__(self, index):
        return {"input_ids": torch.arange(4) + index, "labels": index % 2}


@pytest.mark.filterwarnings("ignore")
def test_the_trainer_of_hugging_face_has_the_same_losses(tmp_path):
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")

    def run(wrap):
        class Trainer(transformers.Trainer):
            def get_train_dataloader(self):
                return wrap(super().get_train_dataloader())

            def get_eval_dataloader(self, *arguments):
                return wrap(super().get_eval_dataloader(*arguments))

        torch.manual_seed(0)
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        model = transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=64, **sizes))
        options = {"report_to": [], "disable_tqdm": True, "logging_steps": 1, "save_strategy": "no", "seed": 1}
        arguments = transformers.TrainingArguments(
            str(tmp_path), use_cpu=True, per_device_train_batch_size=4, gradient_accumulation_steps=4,
            num_train_epochs=2, **options,
        )  # fmt: skip
        trainer = Trainer(model, arguments, train_dataset=Tokens(), eval_dataset=Tokens())
        trainer.train()
        losses = [entry.get("loss") for entry in trainer.state.log_history]
        return losses, trainer.evaluate()["eval_loss"], trainer.state.global_step

    assert run(lambda loader: tp.prefetch(loader, HERE)) == run(lambda loader: loader)


@pytest.mark.filterwarnings("ignore")
def test_lightning_trains_and_is_refused_where_it_makes_a_loader_of_its_own():
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))
            self.seen = []

        def training_step(self, batch, index):
            self.seen.append((batch.tolist(), self.trainer.is_last_batch))
            return (self.weight * batch).square().mean()

        def predict_step(self, batch, index):
            return batch

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-3)

    def trainer(**options):
        quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
        return lightning.Trainer(
            accelerator="cpu", devices=1, max_epochs=2, enable_model_summary=False, **quiet, **options
        )

    def run(wrap):
        lightning.seed_everything(1)
        model = Model()
        trainer().fit(model, wrap(torch.utils.data.DataLoader(torch.arange(12.0), 3, shuffle=True)))
        return model.seen, model.weight.item()

    assert run(lambda loader: tp.prefetch(loader, HERE)) == run(lambda loader: loader)
    loop = tp.prefetch(torch.utils.data.DataLoader(torch.arange(12.0), 3, shuffle=True), HERE)
    with pytest.raises(tp.Error, match="Lightning would make a loader of its own"):
        trainer().predict(Model(), loop)
    with pytest.raises(tp.Error, match="Lightning would make a loader of its own"):
        trainer(overfit_batches=2).fit(Model(), loop)
