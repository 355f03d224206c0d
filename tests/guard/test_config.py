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


def test_mistakes_are_said(run, tmp_path):
    (tmp_path / "none.toml").write_text("[per_run]\nh2d_count = 1\n")
    (tmp_path / "typo.toml").write_text('[guard]\nd2x = "log"\n')
    run("""
        import pathlib
        for name, said in (("none", "has no table [guard]"), ("typo", "there is no key 'd2x'")):
            try:
                tp.guard(config=pathlib.Path(__file__).with_name(name + ".toml"))
            except ValueError as error:
                assert said in str(error), error
            else:
                raise AssertionError
    """)
