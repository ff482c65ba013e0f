"""A process that was forked after JAX had started says so and what to do; it does not hang."""

import subprocess
import sys

import pytest

SCRIPT = """
import multiprocessing, sys, warnings
warnings.simplefilter("ignore")  # JAX warns about the fork itself
{before}

def work(queue):
    try:
        import orexis
        from orexis.interop.environments import OrexisEnv
        from orexis.interop.vector import OrexisVectorEnv
        env = globals().get("env") or OrexisEnv("random-abc")
        {inside}
        queue.put("fine")
    except Exception as error:
        queue.put(f"{{type(error).__name__}}: {{error}}")

context = multiprocessing.get_context("fork")
queue = context.SimpleQueue()
child = context.Process(target=work, args=(queue,))
child.start()
child.join(60)
if child.is_alive():
    child.kill()
    sys.exit("the child hangs")
print(queue.get())
"""

STARTED = "import jax; jax.numpy.zeros(3).block_until_ready()"
CASES = {
    "orexis imported, JAX started elsewhere": (f"import orexis; {STARTED}", "env.reset(seed=0)"),
    "orexis not imported before the fork": (STARTED, "OrexisVectorEnv('random-abc', 2).reset(seed=0)"),
    "an environment in use": (
        "from orexis.interop.environments import OrexisEnv; env = OrexisEnv('random-abc'); env.reset(seed=0)",
        "env.step(0)",
    ),
}


def run(before: str, inside: str) -> str:
    script = SCRIPT.format(before=before, inside=inside)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("case", CASES)
def test_after_a_fork_with_jax_running_one_is_told_what_to_do(case: str):
    told = run(*CASES[case])
    assert told.startswith("ForkedError: this process was forked after JAX had started")
    assert "forkserver" in told
    assert "make_vec" in told


def test_a_fork_before_jax_has_started_is_harmless():
    before = "import orexis; from orexis.interop.environments import OrexisEnv; env = OrexisEnv('random-abc')"
    assert run(before, "env.reset(seed=0); env.step(0)") == "fine"
