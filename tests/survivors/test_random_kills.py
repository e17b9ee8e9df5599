"""The short form of kills.py: ranks are killed inside of calls of every kind, and the others return."""

import kills
import pytest

# What no machine exceeds, however busy it is; on a quiet one 100 ms are enough.
MOST_MILLISECONDS = 2000


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    return kills.build(tmp_path_factory.mktemp("kills"))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_whoever_is_killed_in_whichever_call_the_others_return(launcher, program, seed, ranks):
    told = kills.run(program, launcher.folder, seed, ranks)
    late = [(kind, delay) for kind, delay in told if delay > MOST_MILLISECONDS]
    assert not late
    launcher.assert_nothing_left(within=10)
