"""A real Kubernetes control plane on loopback ports: one etcd, and an API server for each cluster.

usage: with ControlPlane(["hub"], ["cls-a", "cls-b"]) as plane: plane["hub"].kubectl("get", "ns")

A plain cluster has an API server and a controller manager; a full one has a scheduler and kwok too, which
makes nodes and pods ready. Everything lives in one temporary folder and dies with this process, however that
ends. After a failure the folder stays and the ends of the logs are printed.
"""
import base64
import ctypes
import json
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "bulkhead/control-plane"
BIN = CACHE / "bin"
READY_SECONDS = 120
CALL_SECONDS = 60
LOG_TAIL_LINES = 6


class Failure(Exception):
    """A check that did not hold; its text is for people."""


def wait_for(what, look, seconds=60, pause=0.1, alive=lambda: None):
    """Calls look() until it returns something true, which is returned. look may raise Failure: not yet."""
    end, last = time.monotonic() + seconds, ""
    while True:
        alive()
        try:
            got = look()
            if got:
                return got
        except Failure as failure:
            last = f": {failure}"
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds} s{last}")
        time.sleep(pause)


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Process:
    """One program, its log and its end."""

    def __init__(self, folder, name, command, env=None):
        self.name, self.log = name, folder / f"{name}.log"
        with self.log.open("ab") as log:
            self.child = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log,
                                          stderr=log, cwd=folder, env=env, preexec_fn=die_with_parent)

    def alive(self):
        if self.child.poll() is not None:
            raise RuntimeError(f"{self.name} ended with {self.child.returncode}:\n{self.tail()}")

    def kill(self):
        self.child.kill()
        self.child.wait()

    def tail(self, count=LOG_TAIL_LINES):
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(f"    {line[:300]}" for line in lines[-count:])


class Certificates:
    """A CA, what it signed, and the key of service account tokens."""

    def __init__(self, folder):
        self.folder = folder
        self.make("ca", "/CN=e2e-ca", "basicConstraints=critical,CA:TRUE")
        self.make("server", "/CN=127.0.0.1", "subjectAltName=IP:127.0.0.1,DNS:localhost", signed=True)
        self.make("admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth", signed=True)
        self.make("accounts", "/CN=accounts", "basicConstraints=CA:FALSE")

    def make(self, name, subject, extension, signed=False):
        signer = ["-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key")] if signed else []
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", subject, "-addext", extension, "-keyout", self.path(name + ".key"),
                        "-out", self.path(name + ".crt"), *signer], check=True, capture_output=True, text=True)

    def path(self, name):
        return str(self.folder / name)

    def encoded(self, name):
        return base64.b64encode((self.folder / name).read_bytes()).decode()


class Cluster:
    """One API server as its administrator sees it."""

    def __init__(self, plane, name, port, full):
        self.plane, self.name, self.port, self.full = plane, name, port, full
        self.url = f"https://127.0.0.1:{port}"
        self.token = secrets.token_hex(16)
        self.kubeconfig = plane.folder / f"{name}.kubeconfig"
        self.kubeconfig.write_text(self.kubeconfig_text({"token": self.token}))
        self.by_certificate = plane.folder / f"{name}-certificate.kubeconfig"
        self.by_certificate.write_text(self.kubeconfig_text({
            "client-certificate-data": plane.certificates.encoded("admin.crt"),
            "client-key-data": plane.certificates.encoded("admin.key")}))
        self.context = ssl.create_default_context(cafile=plane.certificates.path("ca.crt"))

    def kubeconfig_text(self, user):
        """A kubeconfig that names no file, as JSON, which is YAML too."""
        authority = self.plane.certificates.encoded("ca.crt")
        return json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": self.name,
            "clusters": [{"name": self.name, "cluster": {"server": self.url,
                                                         "certificate-authority-data": authority}}],
            "users": [{"name": "admin", "user": user}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": "admin"}}]}, indent=1)

    def apiserver_command(self, etcd):
        path, folder = self.plane.certificates.path, self.plane.folder
        tokens = folder / f"{self.name}.tokens"
        tokens.write_text(f'{self.token},admin,admin,"system:masters"\n')
        return [BIN / "kube-apiserver", "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
                "--endpoint-reconciler-type=none", f"--secure-port={self.port}", f"--etcd-servers={etcd}",
                f"--etcd-prefix=/{self.name}", f"--tls-cert-file={path('server.crt')}",
                f"--tls-private-key-file={path('server.key')}", f"--client-ca-file={path('ca.crt')}",
                f"--token-auth-file={tokens}", "--authorization-mode=RBAC",
                "--service-cluster-ip-range=10.0.0.0/24", f"--service-account-issuer={self.url}",
                f"--service-account-key-file={path('accounts.crt')}",
                f"--service-account-signing-key-file={path('accounts.key')}"]

    def other_commands(self):
        path, kubeconfig = self.plane.certificates.path, f"--kubeconfig={self.kubeconfig}"
        yield "controller-manager", [
            BIN / "kube-controller-manager", kubeconfig, "--secure-port=0", "--leader-elect=false",
            "--use-service-account-credentials", f"--service-account-private-key-file={path('accounts.key')}",
            f"--root-ca-file={path('ca.crt')}"]
        if self.full:
            yield "scheduler", [BIN / "kube-scheduler", kubeconfig, "--secure-port=0", "--leader-elect=false"]
            yield "kwok", [BIN / "kwok", kubeconfig, "--manage-all-nodes=true", "--node-lease-duration-seconds=40",
                           "--config", CACHE / "stages.yaml"]

    def request(self, method, path, body=None, content="application/json"):
        """One call past kubectl; returns (status, object or text)."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method, headers={
            "Authorization": f"Bearer {self.token}", "Content-Type": content, "Accept": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=CALL_SECONDS, context=self.context) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read().decode()
        except OSError as error:
            status, text = 0, str(error)
        return status, json.loads(text) if text.startswith("{") else text

    def get(self, path):
        """The object at path, or None where there is none."""
        status, got = self.request("GET", path)
        if status == 404:
            return None
        if status != 200:
            raise Failure(f"{self.name}: GET {path}: {status} {got}")
        return got

    def items(self, path):
        return (self.get(path) or {}).get("items", [])

    def run(self, *arguments, text=None):
        """kubectl as it ends: returncode, stdout, stderr."""
        return subprocess.run([str(BIN / "kubectl"), f"--kubeconfig={self.kubeconfig}", *arguments], input=text,
                              capture_output=True, text=True, timeout=CALL_SECONDS, env=self.plane.env)

    def kubectl(self, *arguments, text=None):
        """What kubectl prints; that it fails is a Failure."""
        got = self.run(*arguments, text=text)
        if got.returncode != 0:
            raise Failure(f"{self.name}: kubectl {' '.join(arguments)}: {got.stderr.strip() or got.stdout.strip()}")
        return got.stdout

    def apply(self, *objects):
        for one in objects:
            self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text=json.dumps(one))

    def ready(self):
        status, got = self.request("GET", "/readyz")
        if status != 200:
            raise Failure(f"{self.name}: readyz: {status or ''} {str(got)[:200]}")
        return True

    def node_add(self, name, zone, pods, milli_cpu):
        """A node with room for a number of pods of so much CPU each; kwok makes it ready."""
        size = {"cpu": f"{pods * milli_cpu}m", "memory": "64Gi", "pods": "110"}
        status, got = self.request("POST", "/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}},
            "status": {"allocatable": size, "capacity": size}})
        if status != 201:
            raise Failure(f"{self.name}: node {name}: {status} {got}")

    def node_ready(self, name):
        node = self.get(f"/api/v1/nodes/{name}") or {}
        ready = any(c["type"] == "Ready" and c["status"] == "True"
                    for c in node.get("status", {}).get("conditions", []))
        if not ready or node["spec"].get("taints"):
            raise Failure(f"{self.name}: node {name} is not ready: {node.get('spec', {}).get('taints')}")
        return True


class ControlPlane:
    """etcd and the clusters named; plain ones first, then full ones."""

    def __init__(self, plain, full=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bulkhead-e2e-"))
        self.env = {**os.environ, "HOME": str(self.folder), "KWOK_WORKDIR": str(self.folder)}
        self.env.pop("KUBECONFIG", None)
        self.processes, self.failed, self.started_seconds = [], False, 0.0
        try:
            self.certificates = Certificates(self.folder)
            ports = free_ports(len(plain) + len(full) + 2)
            self.etcd_ports = ports[:2]
            self.clusters = {name: Cluster(self, name, port, name in full)
                             for name, port in zip([*plain, *full], ports[2:])}
        except BaseException:
            self.stop()
            raise

    def __getitem__(self, name):
        return self.clusters[name]

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        begin = time.monotonic()
        try:
            self.start()
        except BaseException:
            self.failed = True
            self.stop()
            raise
        self.started_seconds = time.monotonic() - begin
        return self

    def __exit__(self, kind, *_):
        self.failed = self.failed or kind is not None
        self.stop()

    def spawn(self, name, command):
        process = Process(self.folder, name, command, self.env)
        self.processes.append(process)
        return process

    def alive(self):
        """Says which process has ended, instead of waiting for it in vain."""
        for process in self.processes:
            process.alive()

    def start(self):
        client, peer = (f"http://127.0.0.1:{port}" for port in self.etcd_ports)
        self.spawn("etcd", [BIN / "etcd", "--data-dir", self.folder / "etcd", "--unsafe-no-fsync",
                            "--listen-client-urls", client, "--advertise-client-urls", client,
                            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                            "--initial-cluster", f"default={peer}", "--log-level", "warn"])
        for cluster in self.clusters.values():
            self.spawn(f"{cluster.name}-apiserver", cluster.apiserver_command(client))
        for cluster in self.clusters.values():
            wait_for(f"API server of {cluster.name}", cluster.ready, READY_SECONDS, alive=self.alive)
            for name, command in cluster.other_commands():
                self.spawn(f"{cluster.name}-{name}", command)

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
        if self.failed:
            for process in self.processes:
                print(f"--- end of {process.log}\n{process.tail()}")
            print(f"logs are kept in {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.processes = []


class Checks:
    """Runs checks one after another and counts them."""

    def __init__(self):
        self.passed = self.failed = 0

    def run(self, function, *arguments):
        """Returns whether it held. Its name is what is printed, with the numbers of the behaviours in front."""
        begin = time.monotonic()
        name = re.sub(r"_", " ", function.__name__)
        try:
            function(*arguments)
        except (Failure, AssertionError) as failure:
            self.failed += 1
            print(f"FAIL {name}: {failure}", flush=True)
            return False
        self.passed += 1
        print(f"ok   {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        return True
