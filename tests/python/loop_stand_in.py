"""For tests of loops over tp.prefetch: batches are taken ahead and handed over as on a GPU, and nothing crosses."""

from turnpike._move import ahead, prefetch, refill
from turnpike._move import engine as move_engine


class Sent:
    """Stands where a batch under way does."""

    def __init__(self, engine, batch, device, dtype, aside, keeps_memory=False):
        self.batch = batch
        self.reading = refill.Reading()  # read at once

    def let_go(self):
        pass

    def hand_over(self):
        return self.batch


def let_nothing_cross(set_attribute=setattr):
    """set_attribute: monkeypatch.setattr, where it is to end with a test."""
    set_attribute(prefetch, "_engine_for", lambda device: object())
    set_attribute(move_engine, "refuse_capture", lambda call: None)
    set_attribute(ahead, "send_off", Sent)
