"""XLA flags for tests, which compile much and run little. Imports no JAX: flags must be set before it starts."""

from orexis.interop.xla_flags import known_flags
from orexis.platform import cache_folder

QUICK_TO_COMPILE = known_flags(
    (
        # These compile a window five times faster, and none changes what is meant. Newer XLAs do not know all of them.
        "--xla_backend_optimization_level=0",
        "--xla_cpu_use_fusion_emitters=false",
        "--xla_cpu_parallel_codegen_split_count=1",
    ),
    cache_folder(),
)
