"""Places in code of torch.compile whose lines Python has not looked up yet. No PyTorch is needed: a file's name says
that it is compiled code, and the lookup finds no graph of it.
"""

COMPILED = """
def compiled(name, call):
    names = {"call": call}
    exec(compile("def forward():\\n    call()", f"<eval_with_key>.{name}", "exec"), names)
    return names["forward"]
"""


def test_lines_are_told_apart_before_they_are_looked_up(run):
    # Each function is new, and the allocation does not wait for the lookup.
    done = run(
        COMPILED
        + """
first, second = compiled(1, torch.allocate), compiled(2, torch.allocate)
with tp.guard(alloc="log"):
    first()
    second()
"""
    )
    for line in (10, 11):
        assert f"at train.py:{line} in <module>()" in done.stderr, done.stderr
