"""The decisions behind the demo: one app from its first placement to a zone loss, each promise checked as it is shown.

usage: test_decisions.py KUBECTL-BULKHEAD [--check]
--check prints the same and says at the end how many promises held; either way a broken promise ends with 1.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

PLUGIN = pathlib.Path(sys.argv[1]).resolve()
SAMPLES = pathlib.Path("manifests/samples")
held = broken = 0

APP = """apiVersion: bulkhead.dev/v1alpha1
kind: AppDefinition
metadata: {{name: checkout, namespace: retail}}
spec:
  replicas: {replicas}
  workload:
    kind: Deployment
    spec: {{template: {{spec: {{containers: [{{name: web, image: registry.k8s.io/pause}}]}}}}}}
  topology: {{region: gz, minZones: {min_zones}, maxZonePercent: {percent}, extension: Allowed}}
"""


class Story:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.rooms = {("gz-3", "cls-a"): 14, ("gz-4", "cls-a"): 4, ("gz-4", "cls-b"): 9, ("gz-5", "cls-b"): 2}
        self.frozen = set()
        self.cells = {}

    def decide(self, replicas, percent=67, min_zones=2, change="replicas"):
        app, inventory, last = (self.folder / n for n in ("app.yaml", "inventory.json", "placement.json"))
        app.write_text(APP.format(replicas=replicas, percent=percent, min_zones=min_zones))
        inventory.write_text(json.dumps({"cells": [
            {"zone": z, "cluster": c, "room": max(0, room - self.cells.get((z, c), 0)), "frozen": z in self.frozen}
            for (z, c), room in sorted(self.rooms.items())]}))
        command = [str(PLUGIN), "simulate", "-f", str(app), "-i", str(inventory)]
        if self.cells:
            command += ["-p", str(last), "-c", change]
        shown = subprocess.run(command, capture_output=True, text=True)
        print(shown.stdout + shown.stderr)
        answer = subprocess.run(command + ["-o", "json"], capture_output=True, text=True)
        if answer.returncode not in (0, 3):
            sys.exit("the plugin failed: " + answer.stderr)
        last.write_text(answer.stdout)
        before = self.cells
        self.cells = {(c["zone"], c["cluster"]): c["replicas"] for c in json.loads(answer.stdout)["spec"]["cells"]}
        return before, self.cells, shown.returncode


def promise(text, true):
    global held, broken
    held, broken = held + bool(true), broken + (not true)
    print(("  held:   " if true else "  BROKEN: ") + text + "\n")


def zone(cells, name):
    return sum(n for (z, _), n in cells.items() if z == name)


def cluster(cells, name):
    return sum(n for (_, c), n in cells.items() if c == name)


def grew(before, after):
    return all(after.get(cell, 0) >= n for cell, n in before.items())


def main():
    with tempfile.TemporaryDirectory() as folder:
        story = Story(folder)
        print("1. A person asks for 20 replicas over at least two zones, no zone above 67 %.\n")
        _, cells, _ = story.decide(20)
        promise("gz-3 10 and gz-4 10", zone(cells, "gz-3") == 10 and zone(cells, "gz-4") == 10)
        promise("cls-a 11 (10 + 1), cls-b 9", cluster(cells, "cls-a") == 11 and cluster(cells, "cls-b") == 9)
        print("2. Scale to 23: only the three new replicas are decided.\n")
        before, cells, _ = story.decide(23)
        promise("no cell lost a replica", grew(before, cells) and sum(cells.values()) == 23)
        print("3. Scale down to 18: no cell grows.\n")
        before, cells, _ = story.decide(18)
        promise("no cell gained a replica", grew(cells, before) and sum(cells.values()) == 18)
        print("4. gz-5 gets 12 more nodes' worth of room, and the policy now wants three zones, none above 50 %.\n")
        story.rooms[("gz-5", "cls-b")] = 14
        _, cells, _ = story.decide(18, percent=50, min_zones=3, change="policy")
        promise("three zones of 6", [zone(cells, z) for z in ("gz-3", "gz-4", "gz-5")] == [6, 6, 6])
        print("5. gz-3 fails and is frozen; the app grows to 22.\n")
        story.frozen = {"gz-3"}
        before, cells, _ = story.decide(22, percent=50, min_zones=3)
        promise("gz-3 keeps its 6 and gains nothing", zone(cells, "gz-3") == 6 and sum(cells.values()) == 22)
        print("6. gz-3 is back and a person asks for a rebalance.\n")
        story.frozen = set()
        before, cells, _ = story.decide(22, percent=50, min_zones=3, change="rebalance")
        spread = sorted(zone(cells, z) for z in ("gz-3", "gz-4", "gz-5"))
        promise("zones are even again: 7, 7, 8", spread == [7, 7, 8])
        print("7. Far more is asked for than there is room.\n")
        before, cells, status = story.decide(60, percent=50, min_zones=3)
        promise("what fits is placed, the rest is owed and named", status == 3 and grew(before, cells))
    print(f"{held} promises held, {broken} broken")
    if not broken and "--check" not in sys.argv:
        print("\nTry it:\n  build/gcc-release/kubectl-bulkhead simulate"
              " -f manifests/samples/appdefinition.yaml -i manifests/simulate/inventory.yaml -o wide"
              "\n  build/gcc-release/kubectl-bulkhead simulate --help")
    return 1 if broken else 0


sys.exit(main())
