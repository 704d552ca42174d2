#!/bin/sh
# Builds etcd, the Kubernetes control plane, kubectl and kwok for ./do e2e from the module beside this file.
# usage: build.sh          builds what is missing or older than go.sum; a cold build takes about 5 minutes
#        build.sh --check  ends with 0 when all is there and up to date; builds nothing
# The binaries lie in ${XDG_CACHE_HOME:-$HOME/.cache}/bulkhead/control-plane/bin, kwok's stages beside them.
# Where Go 1.26 is absent one line says SKIPPED and the end is 0, or 1 when CI=true.
set -eu
cd "$(dirname "$0")"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/bulkhead/control-plane"
programs="etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok"
stages="node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease
pod/fast/pod-ready pod/fast/pod-complete pod/fast/pod-delete"

# Judged by content: a fresh clone gives go.sum a new time and nothing else.
built() {
    cmp -s go.sum "$cache/built-from" && [ -s "$cache/stages.yaml" ] || return 1
    for program in $programs; do [ -x "$cache/bin/$program" ] || return 1; done
}

# The version flags of Kubernetes: without them kubectl and the API server cannot say who they are.
version_flags() {
    version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
    minor=${version#v*.}
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        printf -- '-X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s -X %s.gitTreeState=archive ' \
            "$package" "$version" "$package" "$package" "${minor%%.*}" "$package"
    done
}

package_of() {
    case "$1" in
    etcd) echo go.etcd.io/etcd/server/v3 ;;
    kwok) echo sigs.k8s.io/kwok/cmd/kwok ;;
    *) echo "k8s.io/kubernetes/cmd/$1" ;;
    esac
}

# kwok's stages come in its module, one file each; kwok wants them as one.
write_stages() {
    folder=$(go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage
    for stage in $stages; do
        echo "---"
        cat "$folder/$stage.yaml"
    done >"$cache/stages.yaml.new"
    mv "$cache/stages.yaml.new" "$cache/stages.yaml"
}

[ "${1:-}" != --check ] || { built; exit; }
! built || exit 0

export GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS=-mod=readonly
found=$(go env GOVERSION 2>/dev/null || true)
case "$found" in
go1.2[6-9]* | go1.[3-9][0-9]* | go[2-9]*) ;;
*)
    echo "SKIPPED e2e: needs Go 1.26, found ${found:-none}"
    [ "${CI:-}" != true ] || exit 1
    exit 0
    ;;
esac

mkdir -p "$cache/bin"
exec 9>"$cache/lock"
flock 9
! built || exit 0 # somebody else built it while we waited
rm -f "$cache/built-from"
echo "== e2e: building a Kubernetes control plane into $cache/bin (cold: about 5 minutes on 2 cores)"
flags=$(version_flags)
begin=$(date +%s)
for program in $programs; do
    echo "== e2e: $program, after $(($(date +%s) - begin)) s"
    nice go build -trimpath -buildvcs=false -ldflags "-s -w $flags" -o "$cache/bin/$program" "$(package_of "$program")"
done
write_stages
cp go.sum "$cache/built-from"
echo "== e2e: built in $(($(date +%s) - begin)) s"
