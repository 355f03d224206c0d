"""For whom a block holds: this thread, this task, autograd's threads for this thread; and what cannot raise."""


def test_another_thread_is_never_guarded(run):
    run("""
        import threading
        failed = []
        def other():
            try:
                torch.item()
                with tp.guard(sync="disallow"):
                    torch.upload(8, 1)
            except BaseException as error:
                failed.append(error)
        with tp.guard(d2h="disallow", h2d="disallow"):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            assert not failed, failed
            assert torch.calls() == 3
            try:
                torch.item()
            except RuntimeError:
                pass
            else:
                raise AssertionError
    """)


def test_two_threads_are_in_their_own_blocks_at_the_same_time(run):
    """Of two guards, and of one that both enter; its limit is for each of them."""
    run("""
        import threading
        at_once = threading.Barrier(2, timeout=30)
        shared = tp.guard(h2d=1)
        found = {}
        def stopped(function, *arguments):
            try:
                function(*arguments)
            except RuntimeError as error:
                return str(error).startswith("turnpike.guard: ")
            return False
        def work(name, **rules):
            with tp.guard(**rules), shared:
                at_once.wait()
                found[name] = [
                    stopped(torch.item), stopped(torch.synchronize),
                    stopped(torch.upload, 8, 1), stopped(torch.upload, 8, 1),
                ]
                at_once.wait()
            found[name].append(stopped(torch.item))
        threads = [
            threading.Thread(target=work, args=("download",), kwargs={"d2h": "disallow"}),
            threading.Thread(target=work, args=("wait",), kwargs={"sync": "disallow"}),
        ]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        # item() waits, too.
        assert found == {"download": [True, False, False, True, False], "wait": [True, True, False, True, False]}, found
    """)


def test_a_decorated_function_may_call_itself(run):
    run("""
        entered = []
        @tp.guard(d2h=1)
        def step(depth):
            entered.append(depth)
            torch.item()  # the limit is for each call
            if depth:
                step(depth - 1)
        step(3)
        assert entered == [3, 2, 1, 0]
        torch.item()
    """)


def test_autograds_thread_raises_for_the_thread_that_waits_in_backward(run):
    run("""
        import threading
        def passes():
            try:
                with tp.guard(d2h="disallow"):
                    torch.backward(1)  # line 7
            except tp.TransferError as error:
                assert "on the thread pt_autograd_0, which runs no Python" in str(error), error
                assert error.op == "aten::item" and error.exact
                assert (error.file, error.line, error.function) == (__file__, 7, "passes"), vars(error)
                return False
            return True
        assert not passes()
        torch.backward(1)  # nobody guards now
        with tp.guard(d2h="disallow"):
            torch.backward(0)  # a thread of another name has nothing to do with autograd
            failed = []
            def other():
                try:
                    torch.backward(1)  # another thread's backward
                except BaseException as error:
                    failed.append(error)
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            assert not failed, failed
    """)


def test_a_hook_on_autograds_thread_raises_at_its_line(run):
    run("""
        import threading
        def hook(key, caught):
            torch.work_for_autograd(key.encode())
            try:
                torch.item()  # line 7
            except RuntimeError as error:
                caught.append(str(error))
        def backward(key):
            caught = []
            worker = threading.Thread(target=hook, args=(key, caught))
            worker.start()
            worker.join()
            return caught
        mark = f"turnpike.guard.{threading.get_native_id()}"
        with tp.guard(d2h="disallow"):
            caught = backward(mark)
            assert len(caught) == 1 and "at train.py:7 in hook()" in caught[0], caught
            assert not backward("turnpike.guard.1")
        assert not backward(mark)
    """)


def test_a_task_of_asyncio_is_guarded_and_others_are_not(run):
    run("""
        import asyncio
        async def strict(log):
            with tp.guard(d2h="disallow"):
                await asyncio.sleep(0.01)
                try:
                    torch.item()
                except RuntimeError as error:
                    log.append("raised")
                await asyncio.sleep(0.01)
                with contextlib.suppress(RuntimeError):
                    torch.item()
                    log.append("not raised")
        async def free(log):
            for _ in range(30):
                torch.item()
                await asyncio.sleep(0.001)
        async def main():
            log = []
            await asyncio.gather(strict(log), free(log))
            assert log == ["raised"], log
        asyncio.run(main())
        with tp.guard(d2h="disallow"):
            try:
                asyncio.run(free([]))  # what runs inside of the block
            except RuntimeError:
                pass
            else:
                raise AssertionError
    """)


def test_two_tasks_share_a_guard(run):
    run("""
        import asyncio
        shared = tp.guard(d2h="disallow")
        async def strict(first, second):
            await asyncio.sleep(first)
            with shared:
                await asyncio.sleep(second)
                with contextlib.suppress(RuntimeError):
                    torch.item()
                    raise AssertionError
        async def main():
            await asyncio.gather(strict(0, 0.02), strict(0.01, 0.02), strict(0.005, 0))
        asyncio.run(main())
        torch.item()
    """)


def test_functions_of_every_sort_can_be_decorated(run):
    run("""
        import asyncio, inspect
        strict = tp.guard(d2h="disallow")
        @strict
        def plain(value):
            "A function."
            torch.item()
        @strict
        def generator():
            received = yield 1
            assert received == "sent"
            torch.item()
        @strict
        async def coroutine():
            await asyncio.sleep(0)
            torch.item()
        @strict
        async def async_generator():
            yield 1
            await asyncio.sleep(0)
            torch.item()
        def raises(call):
            try:
                call()
            except tp.TransferError:
                return True
            return False
        assert plain.__doc__ == "A function." and inspect.isgeneratorfunction(generator)
        assert inspect.iscoroutinefunction(coroutine) and inspect.isasyncgenfunction(async_generator)
        assert raises(lambda: plain(1))
        steps = generator()
        assert next(steps) == 1
        torch.item()  # between its steps nothing is guarded
        assert raises(lambda: steps.send("sent"))
        assert raises(lambda: asyncio.run(coroutine()))
        async def iterate():
            async for item in async_generator():
                torch.item()
        assert raises(lambda: asyncio.run(iterate()))
        assert torch.calls() == 4
    """)


def test_generators_pass_values_exceptions_and_results(run):
    run("""
        @tp.guard(d2h="disallow")
        def generator():
            try:
                received = yield 1
            except KeyError:
                received = yield "caught"
            try:
                yield received
            finally:
                closed.append(True)
            return "result"
        closed = []
        steps = generator()
        assert next(steps) == 1 and steps.throw(KeyError()) == "caught" and steps.send("sent") == "sent"
        try:
            next(steps)
        except StopIteration as end:
            assert end.value == "result"
        steps = generator()
        next(steps)
        steps.send(2)
        steps.close()
        assert closed == [True, True]
        torch.item()
    """)


def test_a_block_in_a_generator_of_contextlib_holds_for_its_body(run):
    run("""
        @contextlib.contextmanager
        def strict():
            with tp.guard(d2h="disallow"):
                yield
        try:
            with strict():
                torch.item()
        except tp.TransferError:
            pass
        else:
            raise AssertionError
    """)


def test_the_first_entries_are_warm_up(run):
    run("""
        @tp.guard(d2h="disallow", skip=3)
        def step():
            torch.item()
        for _ in range(3):
            step()
        try:
            step()
        except tp.TransferError as error:
            assert error.function == "step"
        else:
            raise AssertionError
        guard = tp.guard(d2h="disallow", skip=1)
        with guard:
            torch.item()
        try:
            with guard:
                torch.item()
        except tp.TransferError:
            pass
        else:
            raise AssertionError
    """)


def test_destructors_and_noexcept_raise_later_and_say_so(run):
    for call in ("wait_in_a_destructor", "wait_noexcept"):
        run(f"""
            call = torch.address(torch.library("FAKE_EXTENSION").{call})
            try:
                with tp.guard(sync="disallow"):
                    torch.call(call)  # line 6
                    print("went on")
            except tp.TransferError as error:
                assert error.line == 6 and not error.exact, vars(error)
            else:
                raise AssertionError
            assert torch.calls() == 1
            try:
                with tp.guard(sync="disallow"):
                    torch.call(call)
                    torch.upload(8, 1)  # the next call that may raise
                    raise AssertionError
            except tp.TransferError as error:
                assert error.line == 15 and not error.exact, vars(error)
                assert "it was called earlier, where no exception could leave" in str(error), error
        """)


def test_while_another_exception_unwinds_nothing_is_thrown(run):
    run("""
        try:
            with tp.guard(sync="disallow"):
                torch.fail_and_unwind()
        except tp.TransferError:
            raise AssertionError from None
        except RuntimeError as error:
            assert str(error) == "the program's own error", error
        else:
            raise AssertionError
    """)


def test_without_anybody_who_catches_nothing_is_thrown(run):
    run("""
        try:
            with tp.guard(sync="disallow"):
                torch.LIBRARY.uncaught()
        except tp.TransferError as error:
            assert not error.exact
        else:
            raise AssertionError
        assert torch.calls() == 1
    """)


def test_a_forked_child_is_in_no_block(run):
    run("""
        import os
        with tp.guard(d2h="disallow"):
            child = os.fork()
            if child == 0:
                torch.item()
                os._exit(7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            with contextlib.suppress(RuntimeError):
                torch.item()
                raise AssertionError
    """)


def test_nothing_is_thrown_when_python_ends(run):
    done = run("""
        import atexit, os
        class Late:
            def __del__(self, item=torch.item, write=os.write):
                item()
                write(1, b"went on\\n")
        tp.guard(sync="disallow").__enter__()
        sys.kept = Late()  # dies with its module, when the interpreter is ending
        @atexit.register
        def at_exit():
            try:
                torch.item()
            except RuntimeError:
                print("raised at exit", flush=True)
    """)
    assert done.stdout.splitlines() == ["raised at exit", "went on"], done.stdout + done.stderr
    assert "(not raised: the interpreter is ending)" in done.stderr


def test_what_is_logged_is_said_once_for_each_line_and_kind_and_then_counted(run):
    done = run("""
        import logging
        records = []
        class Keep(logging.Handler):
            def emit(self, record):
                records.append(record)
        logging.getLogger("turnpike.guard").addHandler(Keep())
        for _ in range(4):
            with tp.guard(h2d="log"):
                for _ in range(3):
                    torch.upload(1000, 0)  # line 12
        assert torch.calls() == 12
        assert len(records) == 1, records
        record = records[0]
        assert record.getMessage() == (
            "h2d of 1.00 kB by aten::to at train.py:12 in <module>(): pageable memory -> GPU. Make it on the GPU, "
            "or move it before with tp.prefetch or tp.to (3 times, 3000 bytes in all)"), record.getMessage()
        assert (record.transfer_kind, record.transfer_line, record.transfer_count) == ("h2d", 12, 3)
        import atexit
        atexit.register(lambda: print(len(records)))  # runs before the summary
        import turnpike._guard.log as log
        log._summarise()
        assert "(12 times, 12000 bytes in all)" in records[-1].getMessage()
    """)
    assert done.returncode == 0


def test_a_guard_of_all_threads_stops_another_thread_and_another_task(run):
    run("""
        import asyncio, threading
        def caught(function=torch.item):
            failed = []
            def work():
                try:
                    function()
                except RuntimeError as error:
                    failed.append(str(error))
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            return failed
        with tp.guard(d2h="disallow", threads="all"):
            (text,) = caught()
            assert "d2h of 4 B by aten::item at train.py:8 in caught.<locals>.work()" in text, text
            with contextlib.suppress(RuntimeError):
                torch.item()
                raise AssertionError
        assert torch.calls() == 0
        assert not caught()
        with tp.guard(d2h="disallow", threads="own"):
            assert not caught()
        async def strict():
            with tp.guard(d2h="disallow", threads="all"):
                await asyncio.sleep(0.01)
        async def free(log):
            await asyncio.sleep(0.005)
            try:
                torch.item()
            except RuntimeError:
                log.append("raised")
        async def main():
            log = []
            await asyncio.gather(strict(), free(log))
            assert log == ["raised"], log
        asyncio.run(main())
    """)


def test_in_a_guard_of_all_threads_a_thread_decides_by_its_own_blocks(run):
    run("""
        import threading
        entered, may_go, log = threading.Event(), threading.Event(), []
        def work():
            with tp.allow("d2h", reason="this thread's own"):
                entered.set()
                may_go.wait()
                try:
                    torch.item()
                except RuntimeError as error:
                    log.append(error)
            with tp.guard(sync="disallow"):
                try:
                    torch.item()
                except RuntimeError as error:
                    log.append("d2h" in str(error))
        thread = threading.Thread(target=work)
        thread.start()
        entered.wait()
        with tp.guard(d2h="disallow", threads="all"):  # entered later, and around what the thread entered all the same
            may_go.set()
            thread.join()
        assert log == [True], log
    """)


def test_of_a_thread_that_pins_only_pageable_memory_concerns_a_guard_of_all_threads(run):
    run("""
        import ctypes, threading
        libc = ctypes.CDLL(None)
        def caught(function, *arguments, **rules):
            failed = []
            def work():
                libc.prctl(15, b"pt_data_pin")  # PR_SET_NAME
                try:
                    function(*arguments)
                except RuntimeError as error:
                    failed.append(str(error))
            with tp.guard(threads="all", **rules):
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()
            return failed
        everything = dict(h2d="disallow", d2h="disallow", sync="disallow", alloc="disallow")
        assert not caught(torch.item, **everything)
        assert not caught(torch.allocate, **everything)
        assert not caught(torch.upload, 8, 1, pageable="disallow")
        (text,) = caught(torch.upload, 8, 0, pageable="disallow")
        assert "h2d of 8 B" in text, text
        assert not caught(torch.upload, 8, 0, h2d="disallow")
    """)


def test_what_all_threads_log_is_said_once_for_each_line_and_counted(run):
    run("""
        import logging, threading
        records = []
        class Keep(logging.Handler):
            def emit(self, record):
                records.append(record)
        logging.getLogger("turnpike.guard").addHandler(Keep())
        def work():
            for _ in range(5):
                torch.upload(1000, 0)
        with tp.guard(h2d="log", threads="all"):
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert [record.transfer_count for record in records] == [20], records
        assert records[0].transfer_total_bytes == 20_000
    """)


def test_a_decorated_function_guards_all_threads_while_it_runs(run):
    run("""
        import concurrent.futures
        pool = concurrent.futures.ThreadPoolExecutor(1)
        @tp.guard(d2h="disallow", threads="all")
        def step():
            return pool.submit(torch.item).exception()
        assert "turnpike.guard: d2h" in str(step())
        assert pool.submit(torch.item).exception() is None
    """)
