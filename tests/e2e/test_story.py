"""The story of one app on real clusters: a hub, two children, a real scheduler, and the controller.

usage: test_story.py [BULKHEAD-CONTROLLER]
Each step starts where the one before ended, so the first that fails ends the story; what was there is printed.
Room is that of manifests/simulate/inventory.yaml: gz-3 14 in cls-a; gz-4 4 in cls-a and 9 in cls-b; gz-5 2.
"""
import collections
import json
import os
import pathlib
import sys
import time

from cluster import BIN, Checks, ControlPlane, Failure, wait_for

CONTROLLER = pathlib.Path(os.environ.get("BULKHEAD_CONTROLLER", "build/gcc-release/bulkhead-controller"))
APPS = "/apis/bulkhead.dev/v1alpha1/namespaces/retail/appdefinitions"
PLACEMENTS = "/apis/bulkhead.dev/v1alpha1/namespaces/retail/placements"
CHILDREN = "/apis/bulkhead.dev/v1alpha1/childclusters"
CONTAINER = "/spec/workload/spec/template/spec/containers/0"
KINDS = {"deployments": "/apis/apps/v1", "replicasets": "/apis/apps/v1", "pods": "/api/v1", "services": "/api/v1",
         "poddisruptionbudgets": "/apis/policy/v1"}
NODES = {"cls-a": [("a1", "gz-3", 7), ("a2", "gz-3", 7), ("a3", "gz-4", 4)],
         "cls-b": [("b1", "gz-4", 5), ("b2", "gz-4", 4), ("b3", "gz-5", 2)]}
LATER_NODES = [("b4", "gz-5", 6), ("b5", "gz-5", 6)]
MILLI_CPU = 250  # what a pod of the example asks for
PAUSE_SECONDS = 2


def expect(true, text):
    if not true:
        raise Failure(text)


class Story:
    """What a person would look at: the hub's words, and the pods with the zone of their node."""

    def __init__(self, plane):
        self.plane, self.hub = plane, plane["hub"]
        self.children = {name: plane[name] for name in NODES}
        self.zones, self.controller = {}, None

    def start_controller(self):
        self.controller = self.plane.spawn("controller", [
            CONTROLLER.resolve(), "--kubeconfig", self.hub.kubeconfig, "--namespace", "bulkhead-system",
            "--allow-loopback"])

    def nodes_add(self, cluster, nodes):
        for name, zone, pods in nodes:
            cluster.node_add(name, zone, pods, MILLI_CPU)
            self.zones[cluster.name, name] = zone
        for name, _, _ in nodes:
            self.wait(f"node {name} of {cluster.name}", lambda n=name: cluster.node_ready(n))

    def wait(self, what, look, seconds=60):
        return wait_for(what, look, seconds, alive=self.plane.alive)

    def app(self):
        return self.hub.get(APPS + "/checkout")

    def condition(self, name):
        found = [c for c in self.app().get("status", {}).get("conditions", []) if c["type"] == name]
        return found[0] if found else {"status": "", "reason": "", "message": f"no condition {name}"}

    def placed(self):
        """Replicas by (zone, cluster) as the Placement says."""
        placement = self.hub.get(PLACEMENTS + "/checkout")
        return {(c["zone"], c["cluster"]): c["replicas"] for c in placement["spec"]["cells"] if c["replicas"]} \
            if placement else {}

    def pods(self):
        """Every pod of the app that is not on its way out, with its cell by the zone of its real node."""
        for name, child in self.children.items():
            for pod in child.items("/api/v1/namespaces/retail/pods"):
                if "deletionTimestamp" not in pod["metadata"]:
                    pod["cell"] = (self.zones.get((name, pod["spec"].get("nodeName"))), name)
                    yield pod

    def running(self):
        """Ready pods by (zone, cluster)."""
        return collections.Counter(pod["cell"] for pod in self.pods() if ready(pod))

    def uids(self):
        return {pod["metadata"]["uid"] for pod in self.pods()}

    def deployments(self):
        """Deployments of the app by cluster and zone."""
        return {(d["metadata"]["labels"]["bulkhead.dev/zone"], name): d
                for name, child in self.children.items()
                for d in child.items("/apis/apps/v1/namespaces/retail/deployments")}

    def patch(self, *changes):
        self.hub.kubectl("-n", "retail", "patch", "tad", "checkout", "--type=json", "-p", json.dumps(
            [{"op": "add", "path": path, "value": value} for path, value in changes]))

    def settle(self, total, seconds=60, watch=lambda: None):
        """Waits until pods run exactly where they are placed; returns the cells."""
        def settled():
            watch()
            placed, running, app = self.placed(), self.running(), self.app()
            status = app.get("status", {})
            expect(sum(placed.values()) == total, f"placed are {show(placed)}")
            expect(placed == running, f"placed are {show(placed)}, ready are {show(running)}")
            expect(status.get("observedGeneration") == app["metadata"]["generation"], "the status is behind")
            expect(status.get("readyReplicas") == total, f"the status says {status.get('readyReplicas')} are ready")
            return placed
        return self.wait(f"{total} replicas run where they are placed", settled, seconds)

    def print_state(self):
        print(f"  placed:  {show(self.placed())}\n  ready:   {show(self.running())}")
        for child in self.hub.items(CHILDREN):
            for c in child.get("status", {}).get("conditions", []):
                print(f"  {child['metadata']['name']}: {c['type']}={c['status']} {c['reason']}: {c['message']}")
        for c in (self.app() or {}).get("status", {}).get("conditions", []):
            print(f"  checkout: {c['type']}={c['status']} {c['reason']}: {c['message']}")
        print(f"  end of the controller's log:\n{self.controller.tail(40)}", flush=True)


def ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


def show(cells):
    return ", ".join(f"{zone}/{cluster} {n}" for (zone, cluster), n in sorted(cells.items(), key=str)) or "none"


def by_zone(cells):
    return dict(collections.Counter({zone: 0 for zone, _ in cells}) + collections.Counter(
        {zone: sum(n for (z, _), n in cells.items() if z == zone) for zone, _ in cells}))


def by_cluster(cells):
    return {name: sum(n for (_, cluster), n in cells.items() if cluster == name) for _, name in cells}


def children_join(story):
    hub = story.hub
    for name in ("bulkhead-system", "retail"):
        hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    logins = {"cls-a": story.children["cls-a"].kubeconfig, "cls-b": story.children["cls-b"].by_certificate}
    for name, child in story.children.items():
        story.nodes_add(child, NODES[name])
        hub.kubectl("-n", "bulkhead-system", "create", "secret", "generic", name,
                    f"--from-file=kubeconfig={logins[name]}")
        hub.apply({"apiVersion": "bulkhead.dev/v1alpha1", "kind": "ChildCluster", "metadata": {"name": name},
                   "spec": {"kubeconfigSecret": {"name": name}, "region": "gz", "allowedNamespaces": ["retail"]}})
    story.start_controller()
    for name in NODES:
        def joined(name=name):
            status = hub.get(f"{CHILDREN}/{name}").get("status", {})
            state = {c["type"]: c for c in status.get("conditions", [])}.get("Ready", {})
            expect(state.get("status") == "True", f"{state.get('reason')}: {state.get('message')}")
            expect(status.get("nodes") == 3, f"{status.get('nodes')} nodes are counted")
            return status
        status = story.wait(f"{name} is ready", joined)
        zones = sorted({zone for _, zone, _ in NODES[name]})
        expect(sorted(status["zones"]) == zones, f"{name} has zones {status['zones']}, not {zones}")
        system = story.children[name].get("/api/v1/namespaces/kube-system")
        expect(status["clusterUID"] == system["metadata"]["uid"], f"{name} is known as {status['clusterUID']}")


def T01_T02_the_example_is_placed_and_its_pods_run_in_the_zones(story):
    story.hub.kubectl("apply", "-f", "manifests/samples/appdefinition.yaml")
    cells = story.settle(20)
    expect(by_zone(cells) == {"gz-3": 10, "gz-4": 10}, f"zones hold {by_zone(cells)}")
    expect(cells == {("gz-3", "cls-a"): 10, ("gz-4", "cls-a"): 1, ("gz-4", "cls-b"): 9}, f"cells are {show(cells)}")
    expect(by_cluster(cells) == {"cls-a": 11, "cls-b": 9}, f"clusters hold {by_cluster(cells)}")


def T02_the_status_says_where_they_are(story):
    status = story.app()["status"]
    shared = status["distribution"]
    expect(shared["compliant"] and {z["name"]: (z["assigned"], z["ready"], z["percent"]) for z in shared["zones"]} == {
        "gz-3": (10, 10, 50), "gz-4": (10, 10, 50)}, f"zones in the status: {shared}")
    expect({c["name"]: (c["assigned"], c["ready"], c["percent"], c["zones"]) for c in shared["clusters"]} == {
        "cls-a": (11, 11, 55, {"gz-3": 10, "gz-4": 1}), "cls-b": (9, 9, 45, {"gz-4": 9})},
        f"clusters in the status: {shared}")
    row = story.hub.kubectl("-n", "retail", "get", "tad", "checkout", "--no-headers").split()
    expect(row[:7] == ["checkout", "20", "20", "20", "0", "2", "True"], f"kubectl get tad shows {row}")
    scale = story.hub.get(APPS + "/checkout/scale")["status"]
    for child in story.children.values():
        found = child.kubectl("-n", "retail", "get", "pods", "-l", scale["selector"], "-o", "name").split()
        expect(len(found) == {"cls-a": 11, "cls-b": 9}[child.name], f"{scale['selector']} selects {len(found)}")


def a_child_has_services_for_every_zone_and_a_budget(story):
    for child in story.children.values():
        where = "/namespaces/retail/"
        services = story.wait("the Services", lambda: {
            s["metadata"]["name"]: s for s in child.items("/api/v1" + where + "services")})
        expect(set(services) == {"checkout", "checkout--gz-3", "checkout--gz-4", "checkout--gz-5"},
               f"{child.name}: services are {sorted(services)}")
        budget = child.items("/apis/policy/v1" + where + "poddisruptionbudgets")
        expect([b["spec"].get("maxUnavailable") for b in budget] == [1], f"{child.name}: budgets are {budget}")
        labels = child.get("/api/v1/namespaces/retail")["metadata"]["labels"]
        expect(labels.get("pod-security.kubernetes.io/enforce") == "baseline", f"{child.name}: labels {labels}")

        def endpoints(service):
            return sum(len(s["endpoints"] or []) for s in child.items("/apis/discovery.k8s.io/v1" + where
                                                                      + "endpointslices")
                       if s["metadata"]["labels"]["kubernetes.io/service-name"] == service)
        wanted = {"cls-a": {"checkout": 11, "checkout--gz-3": 10, "checkout--gz-4": 1, "checkout--gz-5": 0},
                  "cls-b": {"checkout": 9, "checkout--gz-3": 0, "checkout--gz-4": 9, "checkout--gz-5": 0}}[child.name]
        story.wait(f"endpoints of {child.name} {wanted}",
                   lambda: wanted == {s: endpoints(s) for s in services})


def T11_growing_moves_nothing(story):
    before, uids = story.placed(), story.uids()
    story.hub.kubectl("-n", "retail", "scale", "tad/checkout", "--replicas=24")
    cells = story.settle(24)
    expect(all(cells.get(cell, 0) >= n for cell, n in before.items()), f"{show(before)} became {show(cells)}")
    expect(by_zone(cells) == {"gz-3": 12, "gz-4": 12}, f"zones hold {by_zone(cells)}")
    expect(uids <= story.uids(), f"{len(uids - story.uids())} pods were replaced")


def T11_shrinking_moves_nothing(story):
    before, uids = story.placed(), story.uids()
    story.hub.kubectl("-n", "retail", "scale", "tad/checkout", "--replicas=20")
    cells = story.settle(20)
    expect(all(before.get(cell, 0) >= n for cell, n in cells.items()), f"{show(before)} became {show(cells)}")
    expect(by_zone(cells) == {"gz-3": 10, "gz-4": 10}, f"zones hold {by_zone(cells)}")
    expect(story.uids() <= uids, f"{len(story.uids() - uids)} pods are new")


def T12_new_nodes_move_nothing(story):
    before, uids = story.hub.get(PLACEMENTS + "/checkout"), story.uids()
    story.nodes_add(story.children["cls-b"], LATER_NODES)
    story.wait("the new nodes are counted", lambda: story.hub.get(CHILDREN + "/cls-b")["status"]["nodes"] == 5)
    after = story.hub.get(PLACEMENTS + "/checkout")
    expect(after["spec"] == before["spec"] and story.uids() == uids, "the placement changed, or pods did")


def T10_a_changed_policy_moves_and_never_falls_short(story):
    least = [20]

    def watch():
        least[0] = min(least[0], sum(story.running().values()))
    story.patch(("/spec/topology/minZones", 3), ("/spec/topology/maxZonePercent", 50))
    cells = story.settle(20, seconds=120, watch=watch)
    expect(sorted(by_zone(cells).values()) == [6, 7, 7], f"zones hold {by_zone(cells)}")
    expect(least[0] >= 20, f"only {least[0]} pods were ready for a moment; maxUnavailable is 0")


def a_new_template_goes_zone_by_zone(story):
    story.patch(("/spec/rollout/pauseSeconds", PAUSE_SECONDS))
    story.settle(20)
    old, image, least, done = story.uids(), "registry.k8s.io/e2e-test-images/agnhost:2.53", [20], {}

    def watch():
        least[0] = min(least[0], sum(story.running().values()))
        halves = collections.defaultdict(set)
        for (zone, _), d in story.deployments().items():
            new = d["spec"]["template"]["spec"]["containers"][0]["image"] == image
            status, wanted = d["status"], d["spec"]["replicas"]
            whole = status.get("observedGeneration") == d["metadata"]["generation"] and wanted == status.get(
                "updatedReplicas") == status.get("readyReplicas") == status.get("replicas")
            halves[zone].add("done" if new and whole else "under way" if new else "old")
        under_way = [zone for zone, state in halves.items() if state not in ({"done"}, {"old"})]
        if len(under_way) > 1:
            raise AssertionError(f"two zones at once are under way: {dict(halves)}")
        for zone, state in halves.items():
            if state == {"done"}:
                done.setdefault(zone, time.monotonic())
    story.patch((CONTAINER + "/image", image))

    def rolled():
        watch()
        images = collections.Counter(p["spec"]["containers"][0]["image"] for p in story.pods())
        expect(images == {image: 20}, f"images are {dict(images)}; zones done: {sorted(done)}")
        return True
    story.wait("every pod has the new image", rolled, 120)
    story.settle(20, watch=watch)
    story.wait("every zone is done", lambda: watch() or len(done) == 3)
    times = sorted(done.values())
    expect(not old & story.uids(), "pods of the old template are left")
    expect(all(b - a >= PAUSE_SECONDS for a, b in zip(times, times[1:])),
           f"zones followed without the pause of {PAUSE_SECONDS} s: {done}")
    expect(least[0] >= 20, f"only {least[0]} pods were ready for a moment; maxUnavailable is 0")
    story.wait("the rollout is complete", lambda: story.condition("RolledOut")["reason"] == "Complete")


def a_paused_app_is_left_alone(story):
    story.patch(("/spec/paused", True))
    story.wait("the pause is known", lambda: story.condition("Paused")["status"] == "True")
    before = story.hub.get(PLACEMENTS + "/checkout")["metadata"]["resourceVersion"], story.uids()
    story.hub.kubectl("-n", "retail", "scale", "tad/checkout", "--replicas=21")
    story.wait("the change is seen", lambda: story.app()["status"]["observedGeneration"]
               == story.app()["metadata"]["generation"])
    after = story.hub.get(PLACEMENTS + "/checkout")["metadata"]["resourceVersion"], story.uids()
    expect(before == after, "a paused app was written to")
    story.patch(("/spec/paused", False))
    story.settle(21)


def what_does_not_fit_is_owed_and_named(story):
    before = story.placed()
    story.hub.kubectl("-n", "retail", "scale", "tad/checkout", "--replicas=60")
    room = sum(pods for nodes in NODES.values() for _, _, pods in nodes) + sum(pods for _, _, pods in LATER_NODES)

    def owed():
        status = story.app()["status"]
        expect(status.get("shortfall") == 60 - room, f"{status.get('shortfall')} are owed")
        expect(status.get("readyReplicas") == room, f"{status.get('readyReplicas')} are ready")
        return status
    status = story.wait(f"{room} of 60 are placed", owed)
    message = story.condition("Placed")["message"]
    expect(status["shortfallReason"] and f"{60 - room} of 60 replicas are owed" in message, f"it says: {message}")
    expect(not status["distribution"]["compliant"], "it calls itself compliant")
    cells = story.placed()
    expect(all(cells[cell] >= n for cell, n in before.items()), f"{show(before)} became {show(cells)}")
    story.hub.kubectl("-n", "retail", "scale", "tad/checkout", "--replicas=20")
    story.settle(20)


def a_killed_controller_comes_back_and_moves_nothing(story):
    cells, uids = story.settle(20), story.uids()
    before = {cell: d["metadata"]["generation"] for cell, d in story.deployments().items()}
    story.plane.processes.remove(story.controller)
    story.controller.kill()
    story.hub.kubectl("-n", "retail", "scale", "tad/checkout", "--replicas=21")
    story.start_controller()
    grown = story.settle(21)
    changed = {cell for cell in grown if grown[cell] != cells.get(cell)}
    after = {cell: d["metadata"]["generation"] for cell, d in story.deployments().items()}
    expect(len(changed) == 1 and uids <= story.uids(), f"{show(cells)} became {show(grown)}")
    touched = {cell for cell in before if after.get(cell) != before[cell]} - changed
    expect(not touched, f"deployments of {touched} were written though nothing changed for them")


def deletion_leaves_nothing(story):
    uid = story.app()["metadata"]["uid"]
    story.hub.kubectl("-n", "retail", "delete", "tad", "checkout", "--timeout=50s")

    def gone():
        left = [f"{name} {kind}/{item['metadata']['name']}" for name, child in story.children.items()
                for kind, group in KINDS.items() for item in child.items(f"{group}/namespaces/retail/{kind}")
                if item["metadata"].get("labels", {}).get("bulkhead.dev/app-uid") == uid]
        left += [f"hub {path}" for path in (PLACEMENTS, "/apis/apps/v1/namespaces/retail/controllerrevisions")
                 if story.hub.items(path)]
        expect(not left, f"left are {left}")
        return True
    story.wait("nothing is left", gone)
    for child in story.children.values():
        left = [s["metadata"]["name"] for s in child.items("/api/v1/namespaces/retail/services")]
        expect(not left, f"{child.name}: services {left}")


def a_template_that_no_child_takes_is_named_and_harms_nothing(story):
    story.hub.kubectl("apply", "-f", "manifests/samples/appdefinition.yaml")
    story.patch(("/spec/rollout/pauseSeconds", PAUSE_SECONDS))
    story.settle(20)
    uids = story.uids()
    story.patch((CONTAINER + "/ports/0/containerPort", 0))
    story.wait("the refusal is named", lambda: "containerPort" in story.condition("WorkloadInvalid")["message"])
    expect(story.uids() == uids, "pods were replaced")
    story.patch((CONTAINER + "/ports/0/containerPort", 8080))
    story.wait("the template is back in every zone", lambda: story.condition("RolledOut")["reason"] == "Complete")
    story.wait("the refusal is over", lambda: story.condition("WorkloadInvalid")["status"] == "False")
    story.settle(20)
    expect(story.uids() == uids, "pods were replaced")


STEPS = (children_join, T01_T02_the_example_is_placed_and_its_pods_run_in_the_zones,
         T02_the_status_says_where_they_are, a_child_has_services_for_every_zone_and_a_budget,
         T11_growing_moves_nothing, T11_shrinking_moves_nothing, T12_new_nodes_move_nothing,
         T10_a_changed_policy_moves_and_never_falls_short, a_new_template_goes_zone_by_zone,
         a_paused_app_is_left_alone,
         what_does_not_fit_is_owed_and_named, a_killed_controller_comes_back_and_moves_nothing,
         deletion_leaves_nothing, a_template_that_no_child_takes_is_named_and_harms_nothing)


def run(plane, checks):
    """Tells the story on a hub that has the kinds; ends at the first step that fails."""
    if not CONTROLLER.exists():
        print(f"SKIPPED e2e story: {CONTROLLER} is not built", flush=True)
        return
    story = Story(plane)
    for step in STEPS:
        if not checks.run(step, story):
            plane.failed = True
            story.print_state()
            return


if __name__ == "__main__":
    if len(sys.argv) > 1:
        CONTROLLER = pathlib.Path(sys.argv[1])
    results = Checks()
    with ControlPlane(["hub"], sorted(NODES)) as control_plane:
        control_plane["hub"].kubectl("apply", "-f", "crds")
        control_plane["hub"].kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        run(control_plane, results)
    print(f"e2e: {results.passed} passed, {results.failed} failed")
    sys.exit(results.failed > 0)
