"""Places in code of torch.compile. No PyTorch is needed: a file's name says that it is compiled code."""

COMPILED = """
def compiled(name, call):
    names = {"call": call}
    exec(compile("def forward():\\n    call()", f"<eval_with_key>.{name}", "exec"), names)
    return names["forward"]
"""


def test_calls_of_compiled_code_stand_at_the_line_that_called_it(run):
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
