"""Runs every end-to-end test on one control plane. usage: run.py, from ./do e2e, with everything built."""
import sys

import test_crds
import test_story
from cluster import Checks, ControlPlane

results = Checks()
with ControlPlane(["hub"], sorted(test_story.NODES)) as plane:
    print(f"== e2e: three clusters answer after {plane.started_seconds:.1f} s", flush=True)
    test_crds.run(plane, results)
    test_story.run(plane, results)
print(f"e2e: {results.passed} passed, {results.failed} failed")
sys.exit(results.failed > 0)
