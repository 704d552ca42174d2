"""Floors: what an #include may name, besides the file's own folder. Exits 1 with file:line."""
import pathlib
import re
import sys

MAY = {
    "base": "",
    "core": "base", "net": "base",
    "api": "base core", "kube": "base net",
    "drivers": "base net core api kube",
    "controller": "base net core api kube drivers",  # net in dispatch.c only
    "web": "base net core api kube drivers controller", "apiserver": "base net", "fleet": "base core api kube",
    "cli": "base core api kube",
}
LIB = {"curl/": "net", "libwebsockets.h": "net", "openssl/": "net", "yaml.h": "base"}
IMPURE = "base/clock.h", "base/log.h", "base/queue.h"  # closed to core and api
BANNED = re.compile(r"(?<![\w.>])(strcpy|strcat|sprintf|vsprintf|strtok|gets|gmtime|localtime|ctime|"
                    r"asctime|alloca|atoi|atol|rand|srand|strncpy|strncat|system|popen|tmpnam)\s*\(")
CLOCK = re.compile(r"(?<![\w.>])(time|clock_gettime|gettimeofday|random|getrandom)\s*\(")


def floor_faults(folder, may, path):
    for n, line in enumerate(path.read_text().splitlines(), 1):
        m = re.match(r'\s*#\s*include\s*(?:"(([^"/]+)/[^"]*)"|<([^>]+)>)', line)
        if not m:
            continue
        library = m[3] and any(m[3].startswith(k) and f != folder for k, f in LIB.items())
        upward = m[2] and m[2] not in [folder, *may.split()]
        impure = m[1] in IMPURE and folder in ("core", "api")
        if library or upward or impure:
            yield f"{path}:{n}: {folder} may not use {line.strip()}"


def banned_faults(path):
    for n, line in enumerate(path.read_text().splitlines(), 1):
        code = re.sub(r'"(\\.|[^"\\])*"|/\*.*?\*/|//.*|^\s*\*.*', "", line)
        m = BANNED.search(code)
        if m:
            yield f"{path}:{n}: {m[1]}() is banned"
        m = CLOCK.search(code)
        if m and path.name not in ("clock.c", "random.c"):
            yield f"{path}:{n}: only base/clock and base/random may call {m[1]}()"
        if "TODO" in line or "FIXME" in line:
            yield f"{path}:{n}: TODO without an issue"


def main():
    faults = []
    for folder, may in MAY.items():
        root = pathlib.Path(folder if folder == "controller" else "src/" + folder)
        for path in sorted(root.rglob("*.[ch]")):
            if path.name != "main.c":
                faults += floor_faults(folder, may, path)
            faults += banned_faults(path)
    print("\n".join(faults) or "floors and banned calls: clean")
    return bool(faults)


sys.exit(main())
