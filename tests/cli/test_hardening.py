"""How the programs are linked, and that the controller leaves no core file.

usage: test_hardening.py KUBECTL-BULKHEAD; the controller stands beside it.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

PLUGIN = pathlib.Path(sys.argv[1]).resolve()
CONTROLLER = PLUGIN.with_name("bulkhead-controller")
NOBODY = 65534


def C81_programs_are_position_independent_with_read_only_relocations():
    for program in (PLUGIN, CONTROLLER):
        text = subprocess.run(["readelf", "-W", "-h", "-l", "-d", program], check=True, capture_output=True,
                              text=True).stdout
        for wanted in (r"Type:\s+DYN", r"GNU_RELRO", r"FLAGS_1.*\bNOW\b.*\bPIE\b", r"GNU_STACK.*\bRW\s"):
            assert re.search(wanted, text), f"{program.name}: no {wanted}"


def C81_the_controller_is_not_dumpable():
    """The kernel gives the files under /proc of a process to root once it may not be dumped."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        os.chmod(folder, 0o755)
        config = pathlib.Path(folder, "config")
        config.write_text(f"""{{apiVersion: v1, kind: Config, current-context: c,
            contexts: [{{name: c, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {{}}}}],
            clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{server.getsockname()[1]}"}}}}]}}""")
        program = shutil.copy(CONTROLLER, folder)  # where any user may start it
        who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        process = subprocess.Popen([program, "--kubeconfig", config, "--quiet", "--leader-elect=false"], **who)
        try:
            end = time.monotonic() + 20
            while os.stat(f"/proc/{process.pid}/stat").st_uid != 0:
                assert process.poll() is None, "it ended"
                assert time.monotonic() < end, "it may be dumped"
                time.sleep(0.05)
            assert process.poll() is None, "it ended"
        finally:
            process.kill()
            process.wait()


for name, test in list(globals().items()):
    if re.match(r"C\d\d_", name):
        test()
        print("held:", name)
