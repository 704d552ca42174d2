"""The playground as a person meets it: the story holds, and kubectl's verbs work on the hub."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PLAYGROUND = pathlib.Path(sys.argv[1]).with_name("bulkhead-playground")
APP = "manifests/samples/appdefinition.yaml"
failed = []


def expect(name, true, got=""):
    print(("ok   " if true else "FAIL ") + name, flush=True)
    if not true:
        failed.append(name)
        print(got)


def story_holds(folder):
    got = subprocess.run([PLAYGROUND, "--check", "--no-kubectl", "--kubeconfig-dir", folder], capture_output=True,
                         text=True, timeout=100)
    expect("the story holds without kubectl", got.returncode == 0 and "every promise held" in got.stdout,
           got.stdout + got.stderr)


def interrupt_ends_the_story(folder):
    process = subprocess.Popen([PLAYGROUND, "--check", "--no-kubectl", "--kubeconfig-dir", folder],
                               stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if "placed" in line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=20)[0]
    expect("an interrupt ends it in the middle", process.returncode == 1 and "broken off" in rest, rest)


class Hub:
    """A playground in the background, and kubectl on its hub."""

    def __init__(self, folder):
        self.config = pathlib.Path(folder) / "hub.kubeconfig"
        self.process = subprocess.Popen([PLAYGROUND, "--kubeconfig-dir", folder], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if "KUBECONFIG=" in line:
                self.config = line.split("=", 1)[1].strip()
            if "get childclusters" in line:
                break

    def kubectl(self, *arguments, text=None):
        return subprocess.run(["kubectl", "--kubeconfig", self.config, "--request-timeout=20s", *arguments],
                              capture_output=True, text=True, input=text, timeout=60,
                              env={**os.environ, "HOME": str(pathlib.Path(self.config).parent)})

    def works(self, *arguments, says="", text=None, status=0):
        got = self.kubectl(*arguments, text=text)
        expect("kubectl " + " ".join(arguments), got.returncode == status and says in got.stdout + got.stderr,
               f"wanted {says!r} and {status}, got {got.returncode}:\n{got.stdout}{got.stderr}")
        return got.stdout

    def until(self, name, holds):
        end = time.monotonic() + 30
        while not holds() and time.monotonic() < end:
            time.sleep(0.2)
        expect(name, holds())

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=20)
        expect("an interrupt ends it", self.process.returncode == 0)


def reading(hub):
    hub.works("api-resources", "--api-group=bulkhead.dev", says="appdefinitions")
    hub.works("explain", "appdefinition.spec.topology", says="maxZonePercent")
    hub.works("get", "appdefinitions", "-o", "wide", says="checkout")
    hub.works("get", "appdefinition", "checkout", "-o", "yaml", says="maxZonePercent: 67")
    app = json.loads(hub.works("get", "appdefinition", "checkout", "-o", "json"))
    expect("its status says 20 are ready", app["status"]["readyReplicas"] == 20, app["status"])
    hub.works("get", "placement", "checkout", "-o", "yaml", says="cluster: cls-a")
    hub.works("get", "childclusters", says="cls-b")
    hub.works("describe", "appdefinition", "checkout", says="Events:")
    hub.works("get", "events", says="appdefinition/checkout")
    hub.works("events", says="checkout")


def writing(hub):
    hub.works("scale", "appdefinition/checkout", "--replicas=21", says="scaled")
    hub.works("diff", "-f", APP, says="replicas: 20", status=1)
    hub.works("apply", "--dry-run=server", "-f", APP, says="server dry run")
    hub.works("get", "appdefinition", "checkout", "-o", "jsonpath={.spec.replicas}", says="21")
    hub.works("patch", "appdefinition", "checkout", "--type=merge", "-p", '{"spec":{"replicas":22}}', says="patched")
    hub.works("patch", "appdefinition", "checkout", "--type=json", "-p",
              '[{"op":"replace","path":"/spec/replicas","value":20}]', says="patched")
    hub.works("apply", "--server-side", "--force-conflicts", "-f", APP, says="serverside-applied")
    hub.works("wait", "--for=condition=Ready", "appdefinition/checkout", "--timeout=30s", says="condition met")


def watching(hub):
    watch = subprocess.Popen(["kubectl", "--kubeconfig", hub.config, "get", "appdefinitions", "-w", "-o", "name",
                              "--request-timeout=3s"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    first = watch.stdout.readline()
    hub.works("label", "appdefinition", "checkout", "seen=yes", says="labeled")
    second = watch.stdout.readline()
    watch.communicate(timeout=20)
    expect("a watch tells what is there, then the change", "checkout" in first and "checkout" in second, first + second)


def refusals(hub):
    sample = pathlib.Path(APP).read_text()
    for old, new, field in (("replicas: 20", "replicas: -1", "spec.replicas"),
                            ("replicas: 20", "replicas: many", "spec.replicas"),
                            ("maxZonePercent: 67", "maxZonePercent: 101", "spec.topology.maxZonePercent"),
                            ("minZones: 2", "minZones: 0", "spec.topology.minZones"),
                            ("spread: Balanced", "spread: Sideways", "spec.topology.spread"),
                            ("kind: Deployment", "kind: DaemonSet", "spec.workload.kind"),
                            ("strategy: ZoneByZone", "strategy: Slowly", "spec.rollout.strategy"),
                            ("deletionPolicy: Delete", "deletionPolicy: Maybe", "spec.deletionPolicy"),
                            ("minZones: 2", "minZoness: 2", "minZoness")):
        wrong = sample.replace(old, new).replace("name: checkout\nspec", "name: wrong\nspec")
        hub.works("apply", "-f", "-", text=wrong, says=field, status=1)


def verbs(folder):
    hub = Hub(folder)
    try:
        for sample in sorted(pathlib.Path("manifests/samples").glob("*.yaml")):
            hub.works("apply", "-f", str(sample), says="created")
        hub.works("apply", "-f", APP, says="unchanged")
        hub.works("wait", "--for=condition=Ready", "appdefinition/checkout", "--timeout=60s", says="condition met")
        for part in (reading, writing, watching, refusals):
            part(hub)
        hub.works("delete", "appdefinition", "checkout", "--timeout=30s", says="deleted")
        hub.works("get", "appdefinition", "checkout", says="not found", status=1)
        hub.until("nothing of it stays", lambda: "checkout" not in hub.kubectl("get", "placements").stdout)
    finally:
        hub.end()


def main():
    if not PLAYGROUND.exists():
        print(f"FAIL {PLAYGROUND} is not there")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        story_holds(folder)
        interrupt_ends_the_story(folder)
        if shutil.which("kubectl"):
            verbs(folder)
        else:
            print("SKIPPED the verbs: kubectl is not installed")
    return bool(failed)


sys.exit(main())
