"""The plugin as a person meets it: what it prints, what it refuses, how it exits."""
import pathlib
import subprocess
import sys
import tempfile

PLUGIN = sys.argv[1]
APP, INVENTORY = "manifests/samples/appdefinition.yaml", "manifests/simulate/inventory.yaml"
failed = []


def run(*arguments, text=None):
    return subprocess.run([PLUGIN, *arguments], capture_output=True, text=True, input=text)


def expect(name, true, got):
    print(("ok   " if true else "FAIL ") + name)
    if not true:
        failed.append(name)
        print(got.stdout + got.stderr)


def T01_article_example_is_printed():
    got = run("simulate", "-f", APP, "-i", INVENTORY)
    rows = [line.split() for line in got.stdout.splitlines()]
    expect("T01 cls-a 11 = 10 + 1", ["cls-a", "10", "1", "0", "11"] in rows and got.returncode == 0, got)
    expect("T01 cls-b 9 = 0 + 9", ["cls-b", "0", "9", "0", "9"] in rows, got)


def T02_shares_are_reported():
    got = run("simulate", "-f", APP, "-i", INVENTORY)
    expect("T02 50 % each", ["share", "50%", "50%", "0%"] in [line.split() for line in got.stdout.splitlines()], got)


def output_is_read_back():
    with tempfile.TemporaryDirectory() as folder:
        for form in ("json", "yaml"):
            file = pathlib.Path(folder) / form
            file.write_text(run("simulate", "-f", APP, "-i", INVENTORY, "-o", form).stdout)
            got = run("simulate", "-f", APP, "-i", INVENTORY, "-p", str(file), "-o", "wide")
            expect(form + " read back moves nothing", got.returncode == 0 and "0 moved" in got.stdout, got)


def bad_input_names_the_field():
    app = pathlib.Path(APP).read_text()
    for text, words in [(app.replace("replicas: 20", "replicas: -1"), ["spec.replicas", "-1"]),
                        (app.replace("maxZonePercent", "maxZonePercnt"), ["maxZonePercnt"]),
                        ("a: 1\na: 2\n", ["line"]), ("", [])]:
        got = run("simulate", "-f", "-", "-i", INVENTORY, text=text)
        expect("refused: " + " ".join(words), got.returncode == 1 and all(w in got.stderr for w in words), got)


def wrong_usage_exits_2():
    for arguments in ([], ["nosuch"], ["simulate"], ["simulate", "-o", "xml"], ["simulate", "-c", "x"]):
        got = run(*arguments)
        expect("usage: " + " ".join(arguments), got.returncode == 2 and got.stderr, got)


def help_exits_0():
    for arguments in (["--help"], ["simulate", "--help"]):
        got = run(*arguments)
        expect("help: " + " ".join(arguments), got.returncode == 0 and "Usage" in got.stdout, got)


for test in (T01_article_example_is_printed, T02_shares_are_reported, output_is_read_back, bad_input_names_the_field,
             wrong_usage_exits_2, help_exits_0):
    test()
sys.exit(bool(failed))
