"""CRDs: structural, bounded, documented, and the samples fit them. Exits 1 with file: path: fault.

No API server is asked; what only one can say (the exact cost of a rule) is left to the end-to-end test.
"""
import pathlib
import re
import sys

try:
    import yaml
except ImportError:
    print("crds: SKIPPED, python3-yaml is not installed")
    sys.exit(0)

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EITHER = "x-kubernetes-int-or-string"
MAY_PRESERVE = {"AppDefinition": {".spec.workload.spec"}}
# Kept as given by the reader; the schema alone looks inside.
OPAQUE = (".spec.autoscaling.metrics", ".spec.autoscaling.behavior")
# Worst case of one rule, in element visits: well below the server's 10,000,000 a rule.
VISITS_MAX = 100_000


def nodes(schema, path=""):
    """Yields (path, node) of a schema and of everything below it."""
    yield path, schema
    for key, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{key}")
    if "items" in schema:
        yield from nodes(schema["items"], path + "[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from nodes(schema["additionalProperties"], path + "{}")


def C72_every_node_is_typed(crd, schema):
    for path, node in nodes(schema):
        if "type" not in node and not node.get(EITHER):
            yield path, "has no type"
        if node.get("type") == "array" and "x-kubernetes-list-type" not in node:
            yield path, "list without x-kubernetes-list-type"
        for key in node.get("x-kubernetes-list-map-keys", []):
            item = node["items"]
            if key not in item.get("required", []) and "default" not in item["properties"].get(key, {}):
                yield path, f"list key {key} is neither required nor defaulted"
        for key in node.get("required", []):
            if key not in node.get("properties", {}):
                yield path, f"requires {key}, which it does not have"
        if "default" in node:
            for at, fault in faults_of(node["default"], node, path):
                yield at, "default: " + fault
        if "additionalProperties" in node and "properties" in node:
            yield path, "has both properties and additionalProperties"


def C72_nothing_unknown_is_kept(crd, schema):
    for path, node in nodes(schema):
        if node.get(PRESERVE) and path not in MAY_PRESERVE.get(crd["spec"]["names"]["kind"], ()):
            yield path, f"{PRESERVE} hides slips of the user"
        if node.get("type") == "object" and path != ".metadata" and not node.get(PRESERVE) \
                and "properties" not in node and "additionalProperties" not in node:
            yield path, "an object without properties loses everything"


def C73_everything_is_bounded(crd, schema):
    for path, node in nodes(schema):
        need = {"string": "maxLength", "array": "maxItems"}.get(node.get("type"), "")
        if node.get(EITHER):
            need = "maxLength"
        if "additionalProperties" in node:
            need = "maxProperties"
        if need and need not in node and "enum" not in node:
            yield path, f"has no {need}"
        if node.get("type") == "integer" and not ("minimum" in node and "maximum" in node):
            yield path, "has no minimum and maximum"


def C73_rules_are_cheap_and_name_a_remedy(crd, schema):
    def walk(node, path, times):
        for rule in node.get("x-kubernetes-validations", []):
            if not re.search(r"; ?\w+", rule.get("message", "")):
                yield path, f"rule '{rule['rule']}' has no message with a remedy after ';'"
            inner = 1
            for name in re.findall(r"(\w+)\.(?:all|exists|exists_one|filter|map)\(", rule["rule"]):
                sizes = [n.get("maxItems", 3 << 20) for p, n in nodes(node) if p.endswith("." + name)]
                inner *= max(sizes or [1])
            for name in re.findall(r" in self\.(\w+)", rule["rule"]):
                inner *= max([n.get("maxItems", 3 << 20) for p, n in nodes(node) if p.endswith("." + name)] or [1])
            if times * inner > VISITS_MAX:
                yield path, f"rule '{rule['rule']}' may visit {times * inner} elements, at most {VISITS_MAX}"
            if "oldSelf" in rule["rule"] and "[]" in path:
                yield path, "oldSelf below a list never runs where the list has no keys"
        for key, child in node.get("properties", {}).items():
            yield from walk(child, f"{path}.{key}", times)
        if "items" in node:
            yield from walk(node["items"], path + "[]", times * node.get("maxItems", 3 << 20))
    yield from walk(schema, "", 1)


def C75_columns_and_subresources(crd, schema):
    version = crd["spec"]["versions"][0]
    paths = {re.sub(r"\[\]", "", path) for path, _ in nodes(schema)} | {".metadata.creationTimestamp"}
    columns = version.get("additionalPrinterColumns", [])
    if "status" not in version.get("subresources", {}):
        yield "", "has no status subresource"
    if "bulkhead" not in crd["spec"]["names"].get("categories", []):
        yield "", "is not in the category bulkhead"
    if not columns or columns[-1]["name"] != "Age":
        yield "", "the last column is not Age"
    if not any(c.get("priority") == 1 for c in columns):
        yield "", "has no column for -o wide"
    for column in columns:
        if re.sub(r"\[\?\(.*?\)\]", "", column["jsonPath"]) not in paths:
            yield column["jsonPath"], f"column {column['name']} shows no field of the schema"
        if not column.get("description"):
            yield column["jsonPath"], f"column {column['name']} has no description"
    for key, path in version.get("subresources", {}).get("scale", {}).items():
        if path not in paths:
            yield path, f"scale's {key} is no field of the schema"
    if crd["spec"]["names"]["kind"] == "AppDefinition" and \
            "labelSelectorPath" not in version["subresources"].get("scale", {}):
        yield "", "scale has no labelSelectorPath: autoscalers would see no pods"


def documented(crd, schema):
    page = pathlib.Path("crds", crd["spec"]["names"]["singular"] + ".md")
    text = page.read_text() if page.exists() else ""
    if not re.match(r"# \w+\n\n```yaml\n", text):
        yield "", f"{page} does not start with an example"
    for path, node in nodes(schema):
        if path.startswith((".spec.", ".status.")) and not path.endswith(("[]", "{}")):
            if f"`{path[1:]}`" not in text:
                yield path, f"is not in {page}"
            if not node.get("description"):
                yield path, "has no description"
    example = re.search(r"```yaml\n(.*?)```", text, re.S)
    if example:
        yield from faults_of(yaml.safe_load(example[1]), schema, "example")


def C72_reader_and_schema_know_the_same_fields(crd, schema):
    source = pathlib.Path("src/api", crd["spec"]["names"]["singular"] + ".c")
    table = re.search(r"known\[\] = \{(.*?)NULL", source.read_text(), re.S) if source.exists() else None
    if not table:
        yield "", f"{source} has no table of known fields"
        return
    known = {"." + name for name in re.findall(r'"([^"]+)"', table[1]) if name.startswith("spec.")}
    there = {path for path, _ in nodes(schema) if path.startswith(".spec.") and not path.endswith(("[]", "{}"))}
    for path in sorted(known - there):
        yield path, f"is read by {source} and not in the schema"
    for path in sorted(there - known):
        parent = re.sub(r"(\[\])?\.\w+$", "", path)
        if not parent.startswith(OPAQUE):
            yield path, f"is refused by {source}"


def fits_type(value, node):
    number = isinstance(value, int) and not isinstance(value, bool)
    if node.get(EITHER):
        return number or isinstance(value, str)
    return {"object": isinstance(value, dict), "array": isinstance(value, list), "integer": number,
            "string": isinstance(value, str), "boolean": isinstance(value, bool)}.get(node.get("type"), False)


def faults_of(value, node, path):
    """What is wrong with a value by the schema, as (path, text)."""
    if not fits_type(value, node):
        yield path, f"{value!r} is not of type {node.get('type', 'integer or string')}"
        return
    if "enum" in node and value not in node["enum"]:
        yield path, f"{value!r} is not one of {node['enum']}"
    if isinstance(value, int) and not isinstance(value, bool):
        if not node.get("minimum", value) <= value <= node.get("maximum", value):
            yield path, f"{value} is out of bounds"
    if isinstance(value, str):
        if not node.get("minLength", 0) <= len(value) <= node.get("maxLength", len(value)):
            yield path, f"{value!r} has {len(value)} characters"
        if "pattern" in node and not re.search(node["pattern"], value):
            yield path, f"{value!r} does not match {node['pattern']}"
    if isinstance(value, list):
        if len(value) > node.get("maxItems", len(value)):
            yield path, f"{len(value)} items"
        for i, item in enumerate(value):
            yield from faults_of(item, node["items"], f"{path}[{i}]")
    if isinstance(value, dict):
        for key in node.get("required", []):
            if key not in value:
                yield f"{path}.{key}", "missing"
        if node.get(PRESERVE) or path.endswith(".metadata"):
            return
        for key, item in value.items():
            child = node.get("properties", {}).get(key, node.get("additionalProperties"))
            if child is None:
                yield f"{path}.{key}", "unknown field"
            else:
                yield from faults_of(item, child, f"{path}.{key}")


CHECKS = (C72_every_node_is_typed, C72_nothing_unknown_is_kept, C73_everything_is_bounded,
          C73_rules_are_cheap_and_name_a_remedy, C72_reader_and_schema_know_the_same_fields,
          C75_columns_and_subresources, documented)


def main():
    bad, schemas = 0, {}
    for path in sorted(pathlib.Path("crds").glob("*.yaml")):
        crd = yaml.safe_load(path.read_text())
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schemas[crd["spec"]["names"]["kind"]] = schema
        for check in CHECKS:
            for at, fault in check(crd, schema):
                print(f"{path}: {at or '.'}: {fault} ({check.__name__})")
                bad += 1
    samples = 0
    for path in sorted(pathlib.Path("manifests/samples").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if not isinstance(document, dict) or document.get("apiVersion") != "bulkhead.dev/v1alpha1":
                continue
            samples += 1
            if document.get("kind") not in schemas:
                print(f"{path}: .: no CRD for kind {document.get('kind')}")
                bad += 1
                continue
            for at, fault in faults_of(document, schemas[document["kind"]], ""):
                print(f"{path}: {at}: {fault}")
                bad += 1
    if not schemas or not samples:
        print(f"crds: {len(schemas)} CRDs and {samples} samples found, expected some")
        bad += 1
    print(f"crds: {len(schemas)} kinds, {samples} samples, {bad} faults")
    return bad > 0


sys.exit(main())
