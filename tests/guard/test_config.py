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
        'allow = ["train.py"]\n' + rule: "[[allow]] needs a site",
        rule + '[[allow]]\nreason = "checkpoint"\n': "[[allow]] needs a site",
        rule + "[[allow]]\nsite = 3\n": "[[allow]] needs a site",
        rule + '[[allow]]\nsite = "a.py:1"\ndirection = "d2x"\n': "there is no direction 'd2x'",
        rule + '[[allow]]\nsite = "a.py:1"\ndirection = ["d2h"]\n': "there is no direction ['d2h']",
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
