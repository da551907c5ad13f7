"""Solving on several cores: what is compiled before, so that no task pays for it; grids that come from another process."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from env.arc.tasks import Pair, make_grid

LATE = """
import pickle, sys
from numba.core.dispatcher import Dispatcher
from agents.arc.guide import SHIPPED, Network, Trained
from agents.arc.search import solve
from agents.arc.solving import compile_loops
from env.arc.families import FAMILIES, HELD_OUT, instances

def known():
    rooms = [vars(module) for name, module in sys.modules.items() if name.startswith("env.arc")]
    loops = [loop for room in rooms for loop in list(room.values()) if isinstance(loop, Dispatcher)]
    return {(loop.py_func.__qualname__, str(form)) for loop in loops for form in loop.signatures}

compile_loops()
before = known()
assert len(before) > 15
guide = Trained(Network.load(SHIPPED))
for task in pickle.loads(pickle.dumps(instances((*FAMILIES, *HELD_OUT), range(1)))):
    solve(task, guide, 60.0, 150)
print(*sorted(known() - before), sep="\\n")
"""


def test_no_loop_is_compiled_in_the_time_of_a_task() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


def test_grids_from_another_process_are_read_only() -> None:
    pair = pickle.loads(pickle.dumps(Pair(make_grid([[1]]), None)))
    with pytest.raises(ValueError, match="read-only"):
        pair.input[0, 0] = 2
    assert pair.output is None
