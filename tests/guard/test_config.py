"""The table [guard] of turnpike.toml."""


def test_the_table_gives_rules_and_the_allow_list_of_check_gives_sites(run, tmp_path):
    (tmp_path / "turnpike.toml").write_text(
        '[guard]\nd2h = "disallow"\nsync = 1\nskip = 1\n\n'
        '[[allow]]\nsite = "train.py:save"\nreason = "checkpoint"\n\n'
        '[[allow]]\nsite = "train.py:9"\ndirection = "h2d"\n'
    )
    run("""
        import pathlib
        config = pathlib.Path(__file__).with_name("turnpike.toml")
        def save():
            torch.item()
        def evaluate():
            torch.item()
        def passes(guard, function):
            try:
                with guard:
                    function()
            except tp.TransferError:
                return False
            return True
        guard = tp.guard(config=config)
        assert passes(guard, evaluate)  # warm-up
        assert passes(guard, save) and not passes(guard, evaluate)
        assert passes(tp.guard(config=config, d2h="allow", skip=0), evaluate)
        assert passes(tp.guard(config=config, allow="train.py:evaluate", skip=0), evaluate)
    """)


def test_an_allowance_for_one_direction_allows_no_other(run, tmp_path):
    allow = '[guard]\nd2h = "disallow"\n[[allow]]\nsite = "train.py:*"\ndirection = '
    (tmp_path / "memset.toml").write_text(allow + '"memset"\n')  # what `turnpike check` knows and a guard does not
    (tmp_path / "upload.toml").write_text(allow + '"h2d"\n')
    (tmp_path / "download.toml").write_text(allow + '"d2h"\n')
    run("""
        import pathlib
        def passes(name):
            try:
                with tp.guard(config=pathlib.Path(__file__).with_name(name)):
                    torch.item()
            except tp.TransferError:
                return False
            return True
        assert not passes("memset.toml") and not passes("upload.toml") and passes("download.toml")
    """)


def test_mistakes_are_said(run, tmp_path):
    rule = '[guard]\nd2h = "log"\n'
    mistakes = {
        "[per_run]\nh2d_count = 1\n": "has no table [guard]",
        "guard = 3\n": "has no table [guard]",
        "[guard]\n": "[guard] has no rules",
        '[guard]\nd2x = "log"\n': "there is no key 'd2x'",
        "[guard]\ncapture = true\n": "capture=True is neither 'allow' nor 'disallow'",
        "[guard]\nthreads = 1\n": "threads=1 is neither 'own' nor 'all'",
        "[guard]\nskip = true\n": "skip=True is no number of entries",
        "allow = 3\n" + rule: "allow is no list of tables",
        'allow = ["train.py"]\n' + rule: "[[allow]] 1 needs a site",
        rule + '[[allow]]\nreason = "checkpoint"\n': "[[allow]] 1 needs a site",
        rule + "[[allow]]\nsite = 3\n": "[[allow]] 1 needs a site",
        rule + '[[allow]]\nsite = "a.py:1"\ndirection = "d2x"\n': "there is no direction 'd2x'",
        rule + '[[allow]]\nsite = "a.py:1"\ndirection = ["d2h"]\n': "there is no direction ['d2h']",
        rule + '[[allow]]\nsite = "a.py:1"\n[[allow]]\nsite = "b.py:2"\nlevel = "log"\n': (
            ".toml: [[allow]] 2: there is no key 'level'. Known are site, direction, reason, optional"
        ),
        rule + '[[allow]]\nsite = "a.py:1"\nreason = 3\n': "[[allow]] 1: reason=3 is no text",
        rule
        + '[[allow]]\nsite = "a.py:1"\noptional = "yes"\n': "[[allow]] 1: optional='yes' is neither true nor false",
    }
    for number, text in enumerate(mistakes):
        (tmp_path / f"{number}.toml").write_text(text)
    run(f"""
        import pathlib
        for number, said in enumerate({list(mistakes.values())!r}):
            try:
                tp.guard(config=pathlib.Path(__file__).with_name(f"{{number}}.toml"))
            except ValueError as error:
                assert said in str(error), error
            else:
                raise AssertionError(said)
    """)


def test_sites_by_which_nothing_is_allowed_are_said_once_at_the_end(run, tmp_path):
    (tmp_path / "turnpike.toml").write_text(
        '[guard]\nd2h = "disallow"\n'
        '[[allow]]\nsite = "train.py:save"\n'
        '[[allow]]\nsite = "train.py:save"\ndirection = "h2d"\n'
        '[[allow]]\nsite = "moved.py:save"\n'
        '[[allow]]\nsite = "rare.py:save"\noptional = true\n'
        '[[allow]]\nsite = "zeroed.py:save"\ndirection = "memset"\n'
    )
    done = run("""
        import pathlib
        config = pathlib.Path(__file__).with_name("turnpike.toml")
        def save():
            torch.item()
        for _ in range(3):
            with tp.guard(config=config):
                save()
        tp.guard(d2h="disallow", allow=["never.py:entered"])
        with tp.guard(d2h="disallow", allow=["train.py:save", "gone.py:1", {"site": "late.py:2", "optional": True}]):
            save()
        with tp.guard(d2h="disallow", allow={"site": "train.py:save", "direction": "d2h", "reason": "checkpoint"}):
            save()
        # Unmatched here, but not everywhere.
        with tp.guard(d2h="log", allow="train.py:save"):
            pass
        print("end", file=sys.stderr)
    """)
    said = "nothing was allowed by '{}': correct the site, remove it, or say that it is optional"
    assert done.stderr.splitlines() == [
        "end",
        *(said.format(site) for site in ("gone.py:1", "h2d train.py:save", "moved.py:save")),
    ]


def test_a_program_that_was_stopped_by_a_guard_says_them_too(run):
    done = run(
        """
        with tp.guard(d2h="disallow", allow="train.py:evaluated"):
            torch.item()
        """,
        code=1,
    )
    assert "nothing was allowed by 'train.py:evaluated'" in done.stderr.splitlines()[-1]


def test_entries_that_a_program_gives_are_checked_like_those_of_the_file(run):
    run("""
        def mistake(entry):
            try:
                tp.guard(d2h="disallow", allow=[entry])
            except ValueError as error:
                return str(error)
        assert "there is no key 'sites'. Known are site, direction, reason, optional" in mistake(
            {"site": "a.py:1", "sites": 2}
        )
        assert mistake({"sites": "a.py:1"}).startswith("guard: allow={'sites': 'a.py:1'} needs a site, such as")
        assert "holds neither a comma" in mistake({"site": "a.py:1,b.py:2"})
        assert mistake({"site": "a.py:1", "direction": "d2h", "optional": False}) is None
    """)
