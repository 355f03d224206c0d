"""What raises, where, and with what."""


def test_a_download_raises_at_its_line_before_it_happens(run):
    run("""
        def train():
            with tp.guard(d2h="disallow"):
                print("before")
                torch.item()  # line 6
                print("behind")
        try:
            train()
        except tp.TransferError as error:
            caught = error
        assert torch.calls() == 0
        assert isinstance(caught, RuntimeError)
        assert (caught.kind, caught.direction, caught.bytes, caught.line) == ("d2h", "d2h", 4, 6), vars(caught)
        assert caught.file == __file__ and caught.function == "train"
        assert (caught.op, caught.host_memory, caught.stream, caught.exact) == ("aten::item", "pageable", 0, True)
        assert [(line.line, line.function) for line in caught.stack][:2] == [(6, "train"), (9, "<module>")]
        assert str(caught) == (
            'd2h of 4 B by aten::item at train.py:6 in train(): GPU -> pageable memory. Keep it on the GPU, or '
            'tp.fetch it; to permit it: with tp.allow("d2h", reason=...)'), str(caught)
        lines = []
        traceback = caught.__traceback__
        while traceback:
            lines.append(traceback.tb_lineno)
            traceback = traceback.tb_next
        assert 6 in lines, lines
    """)


def test_inside_of_the_block_it_is_a_runtime_error_that_the_program_can_catch(run):
    run("""
        with tp.guard(d2h="disallow"):
            try:
                torch.item()
            except RuntimeError as error:
                assert str(error).startswith("turnpike.guard: d2h of 4 B"), error
                assert error.__traceback__.tb_lineno == 5
            else:
                raise AssertionError
        assert torch.calls() == 0
    """)


def test_each_kind_is_one(run):
    run("""
        def caught(function, *arguments, **rules):
            try:
                with tp.guard(**rules):
                    function(*arguments)
            except tp.TransferError as error:
                return error.kind, error.direction, error.host_memory, error.bytes
        assert caught(torch.upload, 100, 0, h2d="disallow") == ("h2d", "h2d", "pageable", 100)
        assert caught(torch.upload, 100, 1, h2d="disallow") == ("h2d", "h2d", "pinned", 100)
        assert caught(torch.upload, 100, 0, pageable="disallow") == ("pageable", "h2d", "pageable", 100)
        assert caught(torch.upload, 100, 1, pageable="disallow") is None
        assert caught(torch.item, sync="disallow") == ("sync", "sync", None, 0)
        assert caught(torch.synchronize, sync="disallow") == ("sync", "sync", None, 0)
        assert caught(torch.blocking_copy, sync="disallow") == ("sync", "d2h", "pageable", 16)
        assert caught(torch.copy_between, 0, d2d="disallow") == ("d2d", "d2d", None, 64)
        assert caught(torch.copy_between, 1, p2p="disallow") == ("p2p", "p2p", None, 64)
        assert caught(torch.copy_between, 1, d2d="disallow") is None
        assert caught(torch.allocate, alloc="disallow") == ("alloc", "alloc", None, 4096)
        assert caught(torch.item, h2d="disallow", alloc="disallow") is None
    """)


def test_outside_of_blocks_nothing_is_guarded(run):
    run("""
        with tp.guard(d2h="disallow"):
            pass
        torch.item()
        assert torch.calls() == 2
        from turnpike._guard.library import call
        call("restore_slots")
        torch.item()
        assert torch.calls() == 4
        with tp.guard(d2h="allow"):
            torch.item()
    """)


def test_a_module_that_is_loaded_later_is_guarded(run):
    run("""
        try:
            with tp.guard(sync="disallow"):
                extension = torch.library("FAKE_EXTENSION")  # its slots are read-only
                with contextlib.suppress(RuntimeError):
                    torch.synchronize()  # from here on it is seen
                extension.wait_raw(None)  # line 8
        except tp.TransferError as error:
            assert "sync by cudaDeviceSynchronize at train.py:8" in str(error), error
        else:
            raise AssertionError
        assert torch.calls() == 1
    """)


def test_nested_guards_and_allow_decide_by_the_innermost_that_names_the_kind(run):
    run("""
        with tp.guard(d2h="disallow", sync="disallow"):
            with tp.guard(h2d="disallow"):
                try:
                    torch.item()
                except RuntimeError as error:
                    assert "d2h" in str(error)
                else:
                    raise AssertionError
                with tp.allow("d2h", "sync", reason="a test"):
                    torch.item()
                with tp.allow():
                    torch.item()
                    torch.upload(10, 0)
                with tp.allow("d2h"):
                    try:
                        torch.item()
                    except RuntimeError as error:
                        assert "sync" in str(error)
                    else:
                        raise AssertionError
        assert torch.calls() == 2 + 3 + 2  # the wait of an operator is over when it raises
    """)


def test_only_the_first_time_at_a_line(run):
    run("""
        raised = 0
        for _ in range(3):
            with tp.guard(d2h="disallow"), contextlib.suppress(RuntimeError):
                raised += 1
                with tp.allow(first_only=True):
                    torch.item()
                    raised -= 1
        assert raised == 2, raised
    """)


def test_limits_are_for_each_entry(run):
    run("""
        def happened(count, **rules):
            before = torch.calls()
            with contextlib.suppress(tp.TransferError), tp.guard(**rules):
                for _ in range(count):
                    torch.upload(1000, 1)
            return torch.calls() - before
        assert happened(5, h2d=2) == 2
        assert happened(5, h2d=2) == 2
        assert happened(5, h2d=0) == 0
        assert happened(5, h2d="3 kB") == 3
        assert happened(5, h2d="2999 B") == 2
        try:
            with tp.guard(h2d="1 kB"):
                torch.upload(1001, 1)
        except tp.TransferError as error:
            assert "more than the 1.00 kB permitted" in str(error), error
        else:
            raise AssertionError
    """)


def test_sites_can_be_allowed(run):
    run("""
        def save():
            torch.item()
        def evaluate():
            torch.item()
        def passes(function, **rules):
            try:
                with tp.guard(d2h="disallow", sync="disallow", **rules):
                    function()
            except tp.TransferError:
                return False
            return True
        assert passes(save, allow=["train.py:save"])
        assert not passes(evaluate, allow=["train.py:save"])
        assert passes(evaluate, allow="train.py:*")
        assert passes(save, allow=["train.py:4"])
        assert not passes(save, allow=["train.py:6"])
        assert not passes(save, allow=["d2h train.py:save"])
        assert passes(save, allow=["d2h train.py:save", "sync train.py:save"])
        assert passes(lambda: save(), allow=["<lambda>", "train.py:<lambda>"])
    """)


def test_captured_copies_raise_at_the_capture(run):
    run("""
        torch.CUDART.fake_capture(1)
        try:
            with tp.guard(h2d="disallow"):
                torch.upload(8, 1)
        except tp.TransferError as error:
            assert "captured into a graph: it will happen at every replay" in str(error), error
        else:
            raise AssertionError
        with tp.guard(h2d="disallow", capture="allow"):
            torch.upload(8, 1)
    """)


def test_what_the_compiler_copies_for_itself_is_exempt(run, tmp_path):
    folder = tmp_path / "torch" / "_dynamo"
    folder.mkdir(parents=True)
    (folder / "convert_frame.py").write_text("def compile_it(function):\n    function()\n")
    (folder / "eval_frame.py").write_text("def run_it(function):\n    function()\n")
    run("""
        import importlib.util, pathlib
        def load(name):
            path = pathlib.Path(__file__).parent / "torch" / "_dynamo" / (name + ".py")
            spec = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
        with tp.guard(sync="disallow"):
            load("convert_frame").compile_it(torch.synchronize)
        for rules, module in (({"compile": "disallow"}, "convert_frame"), ({}, "eval_frame")):
            function = vars(load(module))[{"convert_frame": "compile_it", "eval_frame": "run_it"}[module]]
            try:
                with tp.guard(sync="disallow", **rules):
                    function(torch.synchronize)
            except tp.TransferError:
                pass
            else:
                raise AssertionError(module)
    """)


def test_an_exception_inside_of_except_keeps_what_it_was_raised_beside(run):
    run("""
        try:
            with tp.guard(d2h="disallow"):
                try:
                    raise KeyError("first")
                except KeyError:
                    torch.item()
        except tp.TransferError as error:
            assert isinstance(error.__cause__, KeyError), error.__cause__
        else:
            raise AssertionError
    """)


def test_other_exceptions_pass(run):
    run("""
        try:
            with tp.guard(d2h="disallow"):
                raise RuntimeError("turnpike.guard: not ours")
        except tp.TransferError:
            raise AssertionError from None
        except RuntimeError as error:
            assert str(error) == "turnpike.guard: not ours"
    """)


def test_an_error_travels_to_another_process_with_its_attributes(run):
    run("""
        import pickle
        try:
            with tp.guard(d2h="disallow"):
                torch.item()
        except tp.TransferError as error:
            again = pickle.loads(pickle.dumps(error))
            assert str(again) == str(error) and vars(again) == vars(error)
    """)


def test_mistakes_in_rules_are_said(run):
    run("""
        def mistake(**rules):
            try:
                tp.guard(**rules)
            except ValueError as error:
                return str(error)
        assert 'd2h: "forbid" is neither allow, log, disallow' in mistake(d2h="forbid")
        assert "a wait has no size" in mistake(sync="3 MB")
        assert "d2h=True is neither" in mistake(d2h=True)
        assert "holds neither a comma" in mistake(allow=["a,d2h=allow"])
        assert "d2h='a,b' is neither" in mistake(d2h="a,b")
        assert "skip=-1 is no number" in mistake(skip=-1) and "skip=True is no number" in mistake(skip=True)
        assert "allow=3 is no list of sites" in mistake(allow=3)
        assert "allow=3 is no site" in mistake(allow=[3])
        assert "d2h=[1] is neither" in mistake(d2h=[1])
        assert mistake(d2h="disallow") is None
        assert "say what to guard" in mistake() and "say what to guard" in mistake(threads="all", allow=["train.py:3"])
        try:
            tp.allow("d2x")
        except ValueError as error:
            assert "there is no kind 'd2x'" in str(error)
        else:
            raise AssertionError
    """)


def test_without_pytorch_nothing_is_guarded_and_that_is_said_once(run, tmp_path):
    (tmp_path / "faketorch.py").write_text("")
    done = run("""
        for _ in range(2):
            with tp.guard(d2h="disallow"):
                pass
        try:
            with tp.guard(d2h="disallow", strict=True):
                pass
        except RuntimeError as error:
            assert "import torch first" in str(error)
        else:
            raise AssertionError
    """)
    warning = "RuntimeWarning: guard: no PyTorch with CUDA is loaded, so nothing is guarded: import torch first"
    assert done.stderr.count("nothing is guarded") == 1 and warning in done.stderr, done.stderr
    assert "train.py:" in done.stderr and "strict=True raises instead" in done.stderr


def test_wrong_rules_of_the_process_are_said_without_a_gpu(run, tmp_path):
    (tmp_path / "faketorch.py").write_text("")
    program = """
        with tp.allow("d2h"):
            pass
    """
    for wrong in ("d2x=disallow", "d2h=forbid"):
        done = run(program, TURNPIKE_GUARD=wrong)
        assert done.stderr.count(f"RuntimeWarning: TURNPIKE_GUARD={wrong!r} guards nothing: ") == 1, done.stderr
    assert run(program, TURNPIKE_GUARD="d2h=disallow,sync=log").stderr == ""


def test_without_a_gpu_it_warns_once_that_nothing_was_checked(run):
    program = """
        import warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with tp.allow("d2h"):
                pass
            for _ in range(3):
                with tp.guard(d2h="disallow"):
                    pass
        print(*(warning.message for warning in caught), sep="\\n")
    """
    text = "guard: nothing was checked, because this process has not used a GPU\n"
    assert run(program, FAKE_DRIVER="").stdout == text
    assert run(program).stdout == "\n"


def test_what_is_allowed_needs_no_pytorch(run, tmp_path):
    (tmp_path / "faketorch.py").write_text("")
    done = run("""
        with tp.allow("d2h", reason="the loss"):
            pass
    """)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_cuda_runtime_that_lacks_a_function_is_left_alone(run, build):
    """Its memory could not be told apart."""
    old = build / "tests/guard/old"
    done = run(
        """
        with tp.guard(d2h="disallow", h2d="disallow"):
            torch.item()
            torch.upload(8, 1)
        try:
            with tp.guard(d2h="disallow", strict=True):
                pass
        except RuntimeError as error:
            assert "nothing is guarded" in str(error)
        else:
            raise AssertionError
        """,
        LD_LIBRARY_PATH=str(old),
        FAKE_CUDART=str(old / "libcudart_of_guard.so"),
    )
    assert done.stderr.count("nothing is guarded") == 1, done.stderr


def test_ten_thousand_raises_leave_nothing_behind(run):
    run("""
        import gc
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * 4096
        def raise_often(count):
            raised = 0
            for _ in range(count):
                try:
                    with tp.guard(d2h="disallow"):
                        torch.item()
                except tp.TransferError:
                    raised += 1
            assert raised == count
        raise_often(2000)
        gc.collect()
        before = resident()
        raise_often(10_000)
        gc.collect()
        assert resident() - before < 1 << 20, resident() - before
        assert torch.calls() == 0
    """)
