"""The kinds on a real API server: installed, defaulted, refused and shown as crds/*.md says.

Every bound in a schema is tried from both sides, from an object that has every field. The hand-written table
below holds what a schema alone cannot say, and must hold every rule there is.
"""
import copy
import json
import pathlib
import re
import sys

from cluster import BIN, Checks, ControlPlane, Failure, wait_for

GROUP = "/apis/bulkhead.dev/v1alpha1"
KINDS = {"AppDefinition": "namespaces/crds/appdefinitions", "ChildCluster": "childclusters",
         "Placement": "namespaces/crds/placements"}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
EITHER, PRESERVE = "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"
MISSING = object()

# kind, field, value, field named by the refusal or, where it is a rule's own, the words of the rule
WRONG = [
    ("AppDefinition", "metadata.name", "a--b", "choose a shorter name without '--'"),
    ("AppDefinition", "metadata.name", "a" * 41, "at most 40 long"),
    ("AppDefinition", "spec.autoscaling", {"maxReplicas": 3}, "set exactly one of spec.replicas and spec.autoscaling"),
    ("AppDefinition", "spec.replicas", MISSING, "add one or remove the other"),
    ("AppDefinition", "spec.routes[0].port", "nosuch", "add it there or correct the route"),
    ("AppDefinition", "spec.workload.service", MISSING, "a route's port is no name in spec.workload.service.ports"),
    ("AppDefinition", "spec.topology.avoidZones", ["a"], "remove it from one of them"),
    ("AppDefinition", "spec.workload", MISSING, "spec.workload: Required value"),
    ("AppDefinition", "spec.workload.spec", MISSING, "spec.workload.spec: Required value"),
    ("AppDefinition", "spec", MISSING, "spec: Required value"),
    ("AppDefinition", "spec.replicas", "20", 'spec.replicas: Invalid value: "string"'),
    ("AppDefinition", "spec.replicas", 2.5, "spec.replicas in body must be of type int32"),
    ("AppDefinition", "spec.rollout.maxSurge", "25", "spec.rollout.maxSurge"),
    ("AppDefinition", "spec.rollout.maxSurge", "101%", "spec.rollout.maxSurge"),
    ("AppDefinition", "spec.rollout.maxUnavailable", True, "spec.rollout.maxUnavailable"),
    ("AppDefinition", "spec.workload.service.ports[0].targetPort", 0, "spec.workload.service.ports[0].targetPort"),
    ("ChildCluster", "metadata.name", "a" * 64, "at most 63 long"),
    ("ChildCluster", "metadata.name", "a.b", "must be lower-case letters, digits and single '-'"),
    ("ChildCluster", "spec.allowedNamespaces", ["kube-system"], "remove it, apps never run there"),
    ("ChildCluster", "spec.capacity.mode", "Observed", "list each zone's max, or use mode Observed"),
    ("ChildCluster", "spec.capacity.zones", [], "spec.capacity.zones goes with mode Elastic"),
    ("Placement", "metadata.name", "a--b", "choose a shorter name without '--'"),
]
CHANGES = [
    ("AppDefinition", "spec.workload.kind", "StatefulSet", "create a second AppDefinition and move the traffic over"),
    ("ChildCluster", "spec.region", "other", "register the cluster again under another name"),
]
MINIMAL = {
    "AppDefinition": ({"replicas": 0, "workload": {"spec": {}}}, {
        "replicas": 0, "paused": False, "workload": {"kind": "Deployment", "spec": {}},
        "topology": {"minZones": 2, "spread": "Balanced", "maxZonePercent": 100, "maxClusterPercent": 100,
                     "extension": "Forbidden", "whenShort": "Partial"},
        "rollout": {"strategy": "ZoneByZone", "maxSurge": "25%", "maxUnavailable": 0, "pauseSeconds": 60},
        "deletionPolicy": "Delete",
        "faultHandling": {"traffic": "Manual", "compensation": "Manual",
                          "profile": {"financial": False, "striped": False, "hosted": False}}}),
    "ChildCluster": ({"kubeconfigSecret": {"name": "a"}, "region": "gz"}, {
        "kubeconfigSecret": {"name": "a", "key": "kubeconfig"}, "region": "gz",
        "zoneLabel": "topology.kubernetes.io/zone",
        "capacity": {"mode": "Observed", "pendingDeadlineSeconds": 600}, "lifecycle": "Active"}),
    "Placement": ({}, {}),
}


def expect(true, text):
    if not true:
        raise Failure(text)


def steps(path):
    return [int(s[1:-1]) if s[0] == "[" else s for s in re.findall(r"\[\d+\]|[^.\[]+", path)]


def look(value, path):
    for step in steps(path):
        if isinstance(value, dict) and step not in value or isinstance(value, list) and step >= len(value):
            return MISSING
        value = value[step]
    return value


def changed(manifest, path, value):
    """A copy in which path has another value, or is not there."""
    copied = copy.deepcopy(manifest)
    *way, last = steps(path)
    parent = copied
    for step in way:
        parent = parent[step]
    if value is MISSING:
        del parent[last]
    else:
        parent[last] = value
    return copied


def nodes(schema, path):
    """Yields (path in the full object, node) below a schema."""
    yield path, schema
    for key, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{key}" if path else key)
    if "items" in schema:
        yield from nodes(schema["items"], path + "[0]")
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], path + ".a")


def example(node):
    """A value with every field."""
    if "enum" in node:
        return node["enum"][0]
    if node.get(EITHER):
        return "10%" if "%" in node["pattern"] else 1
    if node["type"] == "object":
        if "additionalProperties" in node:
            return {"a": example(node["additionalProperties"])}
        return {key: example(child) for key, child in node.get("properties", {}).items()}
    return {"array": lambda: [example(node["items"])], "boolean": lambda: True,
            "integer": lambda: max(1, node["minimum"]),
            "string": lambda: "2026-01-02T03:04:05Z" if node.get("format") == "date-time" else "a"}[node["type"]]()


def wrong_values(node):
    """Yields (value, whether it is refused): each bound from both sides."""
    if "enum" in node:
        yield "Sideways", True
        for value in node["enum"]:
            yield value, False
        return
    if "minimum" in node:
        yield node["minimum"] - 1, True
    if "maximum" in node:
        yield node["maximum"] + 1, True
    if node.get("type") == "integer":
        yield from ((node[bound], False) for bound in ("minimum", "maximum"))
        yield "1", True
    if node.get("type") == "string" and not node.get("format"):
        yield "a" * (node["maxLength"] + 1), True
        yield "a" * node["maxLength"], False
        yield 1, True
        if node.get("minLength"):
            yield "", True
    if "pattern" in node:
        yield "_", True
    if node.get("format"):
        yield "yesterday", True
    if node.get("type") == "boolean":
        yield "true", True
    if node.get("type") == "array" and node["items"].get("type") == "string" and "enum" not in node["items"]:
        yield [f"n{i}" for i in range(node["maxItems"])], False
        yield [f"n{i}" for i in range(node["maxItems"] + 1)], True
        if node["x-kubernetes-list-type"] == "set":
            yield ["n", "n"], True
    elif node.get("type") == "array":
        yield [example(node["items"])] * (node["maxItems"] + 1), True
        if node["x-kubernetes-list-type"] == "map":
            yield [example(node["items"])] * 2, True
    if "maxProperties" in node:
        value = example(node["additionalProperties"])
        yield {f"n{i}": value for i in range(node["maxProperties"])}, False
        yield {f"n{i}": value for i in range(node["maxProperties"] + 1)}, True
    if node.get("type") == "object":
        yield "a", True


class Kinds:
    """The kinds as the server has them, and an object of each that has every field."""

    def __init__(self, hub):
        self.hub, self.schemas, self.full = hub, {}, {}
        for crd in hub.items(CRDS):
            kind = crd["spec"]["names"]["kind"]
            self.schemas[kind] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            self.full[kind] = {"apiVersion": "bulkhead.dev/v1alpha1", "kind": kind, "metadata": {"name": "full"},
                               "spec": example(self.schemas[kind]["properties"]["spec"])}
        if "AppDefinition" in self.full:
            spec = self.full["AppDefinition"]["spec"]
            del spec["autoscaling"]
            spec["topology"]["avoidZones"] = ["b"]
            spec["workload"]["spec"] = {"template": {}}
        if "ChildCluster" in self.full:
            self.full["ChildCluster"]["spec"]["capacity"]["mode"] = "Elastic"

    def variants(self, kind):
        yield self.full[kind]
        if kind == "AppDefinition":
            spec = self.schemas[kind]["properties"]["spec"]["properties"]
            yield changed(changed(self.full[kind], "spec.replicas", MISSING), "spec.autoscaling",
                          example(spec["autoscaling"]))

    def create(self, manifest):
        """Tries to create it, keeping nothing; (status, the object or the refusal's words)."""
        status, got = self.hub.request("POST", f"{GROUP}/{KINDS[manifest['kind']]}?dryRun=All&fieldValidation=Strict",
                                       manifest)
        return status, got if status == 201 else got["message"]


def C73_every_kind_is_established(hub):
    for flags in (["--server-side"], ["--server-side", "--force-conflicts"], []):
        hub.kubectl("apply", *flags, "-f", "crds")
    for crd in hub.items(CRDS):
        name = crd["metadata"]["name"]

        def established():
            state = {c["type"]: c for c in hub.get(f"{CRDS}/{name}").get("status", {}).get("conditions", [])}
            bad = [f"{c['type']}: {c['message']}" for c in state.values()
                   if c["type"] in ("NonStructuralSchema", "KubernetesAPIApprovalPolicyConformant")
                   and (c["type"] == "NonStructuralSchema") == (c["status"] == "True")]
            if bad:
                raise AssertionError(f"{name}: {bad}")
            return state.get("Established", {}).get("status") == "True"
        wait_for(f"{name} is established", established, 30)
    found = sorted(crd["spec"]["names"]["kind"] for crd in hub.items(CRDS))
    expect(found == sorted(KINDS), f"kinds are {found}; this test knows {sorted(KINDS)}")
    for kind, path in KINDS.items():
        wait_for(f"{kind} is served", lambda p=path: hub.get(f"{GROUP}/{p}"), 30)


def C73_applying_kinds_again_changes_nothing(hub):
    before = {c["metadata"]["name"]: c["metadata"]["generation"] for c in hub.items(CRDS)}
    printed = hub.kubectl("apply", "-f", "crds")
    after = {c["metadata"]["name"]: c["metadata"]["generation"] for c in hub.items(CRDS)}
    expect(before == after and "created" not in printed, f"generations {before} became {after}: {printed}")


def samples_apply_strictly(hub):
    hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "retail"}})
    for flags in ([], ["--server-side", "--force-conflicts"]):
        hub.kubectl("apply", "--validate=strict", *flags, "-f", "manifests/samples")
    for page in sorted(pathlib.Path("crds").glob("*.md")):
        text = re.search(r"```yaml\n(.*?)```", page.read_text(), re.S)[1]
        hub.kubectl("apply", "--validate=strict", "--dry-run=server", "-f", "-", text=text)
    hub.kubectl("delete", "-f", "manifests/samples")


def C72_defaults_of_the_least_that_can_be_written(hub):
    kinds = Kinds(hub)
    for kind, (spec, wanted) in MINIMAL.items():
        status, got = kinds.create(changed(kinds.full[kind], "spec", spec))
        expect(status == 201, f"{kind}: {status} {got}")
        expect(got["spec"] == wanted, f"{kind}: defaulted to {json.dumps(got['spec'])}, not {json.dumps(wanted)}")


def C72_defaults_are_what_the_pages_say(hub):
    kinds, seen = Kinds(hub), 0
    for kind in KINDS:
        rows = re.findall(r"^\| `(spec\.[^`]+)` \| [^|]* \| `([^`]+)` \|",
                          pathlib.Path("crds", kind.lower() + ".md").read_text(), re.M)
        documented = {row[0].replace("[]", "[0]"): row[1] for row in rows}
        there = {path: node["default"] for path, node in nodes(kinds.schemas[kind], "")
                 if "default" in node and node["default"] != {}}
        expect(documented.keys() == there.keys(), f"{kind}: defaults of {documented.keys() ^ there.keys()}")
        for path, text in documented.items():
            base = next(v for v in kinds.variants(kind) if look(v, path) is not MISSING)
            if path == "spec.capacity.mode":
                base = changed(base, "spec.capacity.zones", MISSING)
            status, got = kinds.create(changed(base, path, MISSING))
            value = look(got, path) if status == 201 else got
            value = value if isinstance(value, str) else json.dumps(value)
            expect(value == text, f"{kind} {path} defaults to {value}, the page says {text}")
            seen += 1
    expect(seen >= 20, f"only {seen} defaults were found in the pages")


def bounds(kinds, kind, base, part, send):
    """Tries every bound below part of base; returns how many were tried."""
    tried, faults = 0, []
    for path, node in nodes(kinds.schemas[kind]["properties"][part], part):
        if look(base, path) is MISSING:
            continue
        for value, refused in wrong_values(node):
            if not refused and (path, str(value)) in ACCEPTED_ELSEWHERE:
                continue
            status, words = send(changed(base, path, value))
            tried += 1
            if refused and not (status == 422 and re.search(rf"\b{re.escape(path)}(?!\w)", words)):
                faults.append(f"{path}: {str(value)[:50]!r} is not refused by name: {status} {str(words)[:300]}")
            if not refused and status not in (200, 201):
                faults.append(f"{path}: {str(value)[:50]!r} is refused: {words[:300]}")
        if node.get("type") == "object" and not node.get(PRESERVE) and "properties" in node:
            status, words = send(changed(base, path + ".nosuch", 1))
            tried += 1
            if f'unknown field "{path}.nosuch"' not in str(words):
                faults.append(f"{path}.nosuch is no unknown field: {status} {str(words)[:200]}")
    expect(not faults, f"{kind}: {len(faults)} of {tried} bounds do not hold:\n     " + "\n     ".join(faults[:20]))
    return tried


# Good values that another rule forbids in the full object.
ACCEPTED_ELSEWHERE = {("spec.capacity.mode", "Observed"), ("spec.workload.service.ports[0].name", "a" * 15),
                      ("spec.routes[0].port", "a" * 15), ("spec.autoscaling.minReplicas", "1000000")}


def C72_C73_every_bound_of_a_spec_holds_and_is_named(hub):
    kinds, tried = Kinds(hub), 0
    for kind in KINDS:
        for base in kinds.variants(kind):
            status, words = kinds.create(base)
            expect(status == 201, f"{kind}: an object with every field is refused: {words}")
            tried += bounds(kinds, kind, base, "spec", kinds.create)
    expect(tried > 400, f"only {tried} values were tried")


def C72_C75_every_bound_of_a_status_holds_and_is_named(hub):
    kinds, tried = Kinds(hub), 0
    for kind, path in KINDS.items():
        status, kept = hub.request("POST", f"{GROUP}/{path}", kinds.full[kind])
        expect(status == 201, f"{kind}: {kept}")
        kept["status"] = example(kinds.schemas[kind]["properties"]["status"])

        def send(manifest, where=f"{GROUP}/{path}/full/status?dryRun=All&fieldValidation=Strict"):
            code, got = hub.request("PUT", where, manifest)
            return code, got if code == 200 else got["message"]
        code, got = send(kept)
        expect(code == 200 and got["status"] == kept["status"], f"{kind}: a whole status is refused or cut: {got}")
        tried += bounds(kinds, kind, kept, "status", send)
        hub.request("DELETE", f"{GROUP}/{path}/full")
    expect(tried > 100, f"only {tried} values were tried")


def C73_every_rule_refuses_and_names_its_remedy(hub):
    kinds, answers = Kinds(hub), []
    for kind, path, value, words in WRONG:
        status, got = kinds.create(changed(kinds.full[kind], path, value))
        expect(status == 422 and words in got, f"{kind} {path} = {value!r}: wanted '{words}', got {status} {got}")
        answers.append(got)
    status, got = kinds.create({**kinds.full["AppDefinition"], "spec": {
        "workload": {"spec": {}}, "autoscaling": {"minReplicas": 4, "maxReplicas": 3}}})
    expect(status == 422 and "lower it or raise maxReplicas" in got, f"minReplicas above maxReplicas: {status} {got}")
    answers.append(got)
    for kind, path, value, words in CHANGES:
        status, kept = hub.request("POST", f"{GROUP}/{KINDS[kind]}", kinds.full[kind])
        expect(status == 201, f"{kind}: {kept}")
        status, got = hub.request("PUT", f"{GROUP}/{KINDS[kind]}/full", changed(kept, path, value))
        hub.request("DELETE", f"{GROUP}/{KINDS[kind]}/full")
        expect(status == 422 and words in got["message"], f"{kind} {path}: {status} {got}")
        answers.append(got["message"])
    for kind, schema in kinds.schemas.items():
        page = pathlib.Path("crds", kind.lower() + ".md").read_text().lower()
        for path, node in nodes(schema, ""):
            for rule in node.get("x-kubernetes-validations", []):
                expect(any(rule["message"] in answer for answer in answers),
                       f"{kind} {path}: no line of this table meets the rule '{rule['message']}'")
                expect(rule["message"].lower() in page, f"{kind} {path}: its page does not say '{rule['message']}'")


def C72_unknown_fields_are_refused_strictly_and_else_warned_of(hub):
    manifest = json.dumps(changed(changed(Kinds(hub).full["AppDefinition"], "spec.topology.maxZonePercnt", 67),
                                  "metadata.namespace", "crds"))
    got = hub.run("apply", "--validate=strict", "-f", "-", text=manifest)
    expect(got.returncode != 0 and 'unknown field "spec.topology.maxZonePercnt"' in got.stderr, got.stderr)
    got = hub.run("apply", "--validate=warn", "-f", "-", "-o", "json", text=manifest)
    expect(got.returncode == 0 and 'Warning: unknown field "spec.topology.maxZonePercnt"' in got.stderr, got.stderr)
    expect("maxZonePercnt" not in json.loads(got.stdout)["spec"]["topology"], "the unknown field was kept")
    hub.kubectl("-n", "crds", "delete", "tad", "full")


def C72_a_workload_is_kept_as_given(hub):
    kinds = Kinds(hub)
    given = {"template": {"spec": {"containers": [{"name": "a", "env": [{"name": "N", "value": ""}], "later": 0}]}},
             "unheardOf": {"deep": [1, "two", None, {"x": False}]}}
    status, got = kinds.create(changed(kinds.full["AppDefinition"], "spec.workload.spec", given))
    expect(status == 201 and got["spec"]["workload"]["spec"] == given, f"{status} {got}")


def C75_scale_is_a_subresource(hub):
    kinds = Kinds(hub)
    app = changed(kinds.full["AppDefinition"], "metadata.namespace", "crds")
    hub.apply(app)
    path = f"{GROUP}/{KINDS['AppDefinition']}/full"
    before = hub.get(path)["metadata"]["generation"]
    hub.kubectl("-n", "crds", "scale", "appdefinition/full", "--replicas=24")
    hub.kubectl("-n", "crds", "scale", "tad/full", "--current-replicas=24", "--replicas=23")
    got = hub.get(path)
    expect(got["spec"]["replicas"] == 23 and got["metadata"]["generation"] == before + 2, f"after scaling: {got}")
    refused = hub.run("-n", "crds", "scale", "tad/full", "--replicas=1000001")
    expect(refused.returncode != 0 and "spec.replicas" in refused.stderr, f"above the bound: {refused}")
    status, _ = hub.request("PATCH", path + "/status", {"status": {
        "replicas": 21, "selector": "bulkhead.dev/app-uid=1"}}, "application/merge-patch+json")
    scale = hub.get(path + "/scale")
    expect(status == 200 and scale["spec"]["replicas"] == 23 and scale["status"] == {
        "replicas": 21, "selector": "bulkhead.dev/app-uid=1"}, f"scale says {scale}")
    owners = {m["manager"]: m.get("subresource") for m in hub.get(path)["metadata"]["managedFields"]}
    expect("scale" in owners.values(), f"field owners {owners}")


def C75_status_is_a_subresource(hub):
    path = f"{GROUP}/{KINDS['AppDefinition']}/full"
    before = hub.get(path)
    hub.request("PATCH", path, {"status": {"replicas": 5}}, "application/merge-patch+json")
    hub.request("PATCH", path + "/status", {"spec": {"paused": False}, "status": {"zones": 2}},
                "application/merge-patch+json")
    after = hub.get(path)
    expect(after["spec"] == before["spec"] and after["metadata"]["generation"] == before["metadata"]["generation"],
           "a write of the status changed the spec")
    expect(after["status"] == {**before["status"], "zones": 2}, f"a write of the spec changed it: {after['status']}")


def C75_columns_and_short_names(hub):
    status = {"placedReplicas": 20, "readyReplicas": 19, "shortfall": 3, "shortfallReason": "Room", "zones": 2,
              "conditions": [{"type": "Ready", "status": "False", "reason": "ReplicasOwed", "message": "m",
                              "lastTransitionTime": "2026-01-02T03:04:05Z"}]}
    hub.request("PATCH", f"{GROUP}/{KINDS['AppDefinition']}/full/status", {"status": status},
                "application/merge-patch+json")

    def table(*arguments):
        head, *rows = hub.kubectl("get", *arguments).splitlines()
        columns = [(m[0], m.start()) for m in re.finditer(r"\S+", head)] + [("", None)]
        return [{name: row[at:end].strip() for (name, at), (_, end) in zip(columns, columns[1:])} for row in rows]
    narrow = {"NAME": "full", "DESIRED": "23", "PLACED": "20", "AVAILABLE": "19", "OWED": "3", "ZONES": "2",
              "READY": "False"}
    wide = {**narrow, "REASON": "ReplicasOwed", "BLOCKED": "Room", "SPREAD": "Balanced", "CAP": "1", "PAUSED": "true"}
    for flags, wanted in (([], narrow), (["-o", "wide"], wide)):
        row = table("-n", "crds", "tad", *flags)[0]
        row.pop("AGE", None)
        expect(row == wanted, f"kubectl get tad {flags} shows {row}, not {wanted}")
    hub.apply(Kinds(hub).full["ChildCluster"])
    row = table("cc", "-o", "wide")[0]
    row.pop("AGE", None)
    expect(row == {"NAME": "full", "REGION": "a", "LIFECYCLE": "Active", "NODES": "", "READY": "", "REASON": "",
                   "CAPACITY": "Elastic"}, f"kubectl get cc -o wide shows {row}")
    printed = hub.kubectl("get", "bulkhead", "-n", "crds", "-o", "name").split()
    expect(printed == ["appdefinition.bulkhead.dev/full", "childcluster.bulkhead.dev/full"], f"category: {printed}")
    hub.kubectl("delete", "cc", "full")
    hub.kubectl("-n", "crds", "delete", "tad", "full")


def C72_explain_says_what_a_field_means(hub):
    for path, words in (("appdefinition.spec.topology.maxZonePercent", "one zone may hold"),
                        ("childcluster.spec.lifecycle", "Cordoned gains nothing"),
                        ("placement.spec.cells", "How many replicas run where")):
        text = re.sub(r"\s+", " ", hub.kubectl("explain", path))
        expect(words in text, f"kubectl explain {path} says: {text}")


def C73_the_largest_decision_fits(hub):
    """A server takes 1.5 MiB of an object, field owners included."""
    path = f"{GROUP}/{KINDS['Placement']}/large?fieldManager=bulkhead&force=true"
    cells = [{"zone": f"zone-{z}", "cluster": f"cluster-{c}", "replicas": 60} for z in range(64) for c in range(256)]
    placement = {"apiVersion": "bulkhead.dev/v1alpha1", "kind": "Placement", "metadata": {"name": "large"},
                 "spec": {"inputHash": "v1:0", "cells": cells,
                          "revisions": [{"zone": f"zone-{z}", "revision": "large-0123456789abcdef"} for z in range(64)]}}
    status, got = hub.request("PATCH", path, placement, "application/apply-patch+yaml")
    expect(status == 201, f"{len(cells)} cells: {status} {str(got)[:300]}")
    placement["spec"]["cells"] = cells[1:]
    status, got = hub.request("PATCH", path, placement, "application/apply-patch+yaml")
    expect(status == 200 and len(got["spec"]["cells"]) == len(cells) - 1, f"one cell less: {status} {str(got)[:300]}")
    hub.request("DELETE", f"{GROUP}/{KINDS['Placement']}/large")
    hub.apply(changed(Kinds(hub).full["AppDefinition"], "metadata.namespace", "crds"))
    numbers = {"assigned": 60, "ready": 60, "percent": 1}
    shared = {"compliant": True, "zones": [{"name": f"zone-{z}", **numbers, "reason": "share"} for z in range(64)],
              "clusters": [{"name": f"cluster-{c}", **numbers, "zones": {f"zone-{z}": 60 for z in range(16)}}
                           for c in range(1024)]}
    status, got = hub.request("PATCH", f"{GROUP}/{KINDS['AppDefinition']}/full/status",
                              {"status": {"distribution": shared}}, "application/merge-patch+json")
    expect(status == 200 and got["status"]["distribution"] == shared, f"1024 clusters: {status} {str(got)[:300]}")
    hub.kubectl("-n", "crds", "delete", "tad", "full")


ALL = (C73_every_kind_is_established, C73_applying_kinds_again_changes_nothing, samples_apply_strictly,
       C72_defaults_of_the_least_that_can_be_written, C72_defaults_are_what_the_pages_say,
       C72_C73_every_bound_of_a_spec_holds_and_is_named, C72_C75_every_bound_of_a_status_holds_and_is_named,
       C73_every_rule_refuses_and_names_its_remedy, C72_unknown_fields_are_refused_strictly_and_else_warned_of,
       C72_a_workload_is_kept_as_given, C75_scale_is_a_subresource, C75_status_is_a_subresource,
       C75_columns_and_short_names, C72_explain_says_what_a_field_means, C73_the_largest_decision_fits)


def run(plane, checks):
    """Runs them all against the hub, which must be empty; leaves the kinds installed and no object of them."""
    hub = plane["hub"]
    hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "crds"}})
    if not checks.run(ALL[0], hub):
        return
    for check in ALL[1:]:
        checks.run(check, hub)
    hub.kubectl("delete", "namespace", "crds", "--wait=false")


if __name__ == "__main__":
    if not BIN.exists():
        sys.exit("build it first: tests/e2e/build.sh")
    results = Checks()
    with ControlPlane(["hub"]) as control_plane:
        run(control_plane, results)
    print(f"e2e: {results.passed} passed, {results.failed} failed")
    sys.exit(results.failed > 0)
