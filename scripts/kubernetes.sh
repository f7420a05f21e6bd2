#!/usr/bin/env bash
# scripts/kubernetes.sh: builds the Kubernetes 1.20.2 control plane that the tests of src/kube start, from Debian 12's
# source package, and takes etcd from Debian's binary package. Nothing is installed and no root is needed: packages are
# unpacked into a private folder, the build happens beside the cache, and the result is renamed into place, so an
# interrupted run leaves nothing that a test would use. Does nothing if the result is there already.
#
# WEFT_CACHE (~/.cache/weft) holds the result, kubernetes-1.20.2/bin; the build needs 3 GB beside it for about 6 minutes.
set -euo pipefail

version=1.20.2
recipe=1 # raise it when the result of this script changes: the cache is then built again
cache=${WEFT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weft}
target=$cache/kubernetes-$version
servers=(kube-apiserver kube-controller-manager kube-scheduler kubelet)
from_debian=(etcd etcdctl)
needed_kib=$((3 * 1024 * 1024))

fail() {
  echo "kubernetes: $1" >&2
  exit 1
}

is_complete() {
  [[ $(cat "$target/recipe" 2>/dev/null) == "$recipe" ]] || return 1
  local name
  for name in "${servers[@]}" "${from_debian[@]}"; do
    [[ -x $target/bin/$name ]] || return 1
  done
}

if is_complete; then
  echo "kubernetes: $target is up to date"
  exit 0
fi

for tool in apt-get dpkg-deb dpkg-source flock; do
  command -v "$tool" >/dev/null || fail "$tool is missing; on Debian 12 install the packages apt, dpkg, dpkg-dev, util-linux"
done
mkdir -p "$cache"
exec 9>"$cache/kubernetes.lock"
flock --nonblock 9 || fail "another build is running (lock $cache/kubernetes.lock); wait for it"
free_kib=$(df --output=avail -k "$cache" | tail -n 1)
((free_kib >= needed_kib)) || fail "$cache has $((free_kib / 1024)) MiB free, the build needs $((needed_kib / 1024)) MiB"

rm -rf "$cache"/kubernetes-build.* # of an interrupted build: the lock says that no other build is running
work=$(mktemp -d "$cache/kubernetes-build.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
log=$cache/kubernetes-build.log
: >"$log"

# step NAME COMMAND...: runs one step at the lowest priority with its output in the log; shows the log's end if it fails.
step() {
  local name=$1 start=$SECONDS
  shift
  printf '%-28s ' "$name"
  if ! nice -n 19 "$@" >>"$log" 2>&1; then
    printf 'FAILED\n'
    tail -n 30 "$log" >&2
    fail "step '$name' failed (log: $log)"
  fi
  printf 'ok %4d s\n' $((SECONDS - start))
}

# The source lists of this machine with deb-src in place of deb; apt checks signatures and hashes as usual.
write_source_lists() {
  mkdir -p "$work/apt/sources" "$work/apt/lists/partial"
  local file=/etc/apt/sources.list.d/debian.sources
  if [[ -e $file ]]; then
    sed 's/^Types: .*/Types: deb-src/' "$file" >"$work/apt/sources/debian.sources"
  fi
  if [[ -e /etc/apt/sources.list ]]; then
    sed -n 's/^deb \(.*bookworm.*\)/deb-src \1/p' /etc/apt/sources.list >"$work/apt/sources/debian.list"
  fi
  grep -qs deb-src "$work"/apt/sources/* || fail "no source of Debian 12 in /etc/apt"
}
apt_source() {
  apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/apt/sources" \
    -o Dir::State::lists="$work/apt/lists" -o APT::Sandbox::User="$(id -un)" "$@"
}
download_tools() {
  mkdir -p "$work/debs" "$work/root"
  cd "$work/debs"
  apt-get -q -o APT::Sandbox::User="$(id -un)" download golang-1.19-go golang-1.19-src \
    golang-github-modern-go-reflect2-dev etcd-server etcd-client
  local file
  for file in *.deb; do
    dpkg-deb --extract "$file" "$work/root"
  done
}
download_source() {
  cd "$work"
  apt_source update
  apt_source source --download-only kubernetes
  local description=(kubernetes_*"$version"-*.dsc) # "1.20.5+really1.20.2-...": Debian went back to 1.20.2
  [[ -e ${description[0]} ]] || { echo "Debian's source package is not $version: $(echo kubernetes_*)"; return 1; }
  dpkg-source --no-check -x "${description[0]}" tree
}

# The vendored reflect2 1.0.1 and one comparison in kube-openapi do not work with Go 1.18 or newer: the server aborts at
# the first JSON body with a map, and takes "" for null in defaults of CustomResourceDefinitions.
patch_source() {
  local vendored=$work/tree/vendor/github.com/modern-go/reflect2
  local newer=$work/root/usr/share/gocode/src/github.com/modern-go/reflect2
  rm -f "$vendored"/*.go "$vendored"/*.s
  cp "$newer"/*.go "$newer"/*.s "$vendored/"
  rm -f "$vendored"/*_test.go
  local file=$work/tree/vendor/k8s.io/kube-openapi/pkg/validation/validate/type.go
  sed -i 's/if data == nil || reflect\.DeepEqual(.*) {$/if data == nil {/' "$file"
  grep -q 'if data == nil {$' "$file" || { echo "$file: the line to change is not there"; return 1; }
}

# Upstream builds 1.20 in GOPATH mode too. The OpenAPI definitions are generated: the source package has none.
enter_tree() {
  export GOROOT=$work/root/usr/lib/go-1.19 GOPATH=$work/go GOCACHE=$work/gocache GOTMPDIR=$work
  export GO111MODULE=off GOFLAGS="" GOPROXY=off CGO_ENABLED=0 PATH=$work/root/usr/lib/go-1.19/bin:$PATH
  mkdir -p "$work/go/src/k8s.io" "$work/bin"
  ln -sfn "$work/tree" "$work/go/src/k8s.io/kubernetes"
  cd "$work/go/src/k8s.io/kubernetes"
}
generate_openapi() {
  enter_tree
  go build -trimpath -o "$work/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
  local packages
  packages=$(find -L pkg cmd plugin vendor/k8s.io -name '*.go' -exec grep -lZ '+k8s:openapi-gen=' {} + |
    xargs -0 -n 1 dirname | LC_ALL=C sort -u |
    grep -Ev '^vendor/k8s.io/(kube-openapi|gengo|code-generator|sample-apiserver)(/|$)' |
    sed 's,^,k8s.io/kubernetes/,' | paste -sd,)
  "$work/openapi-gen" --logtostderr -i "$packages" -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi \
    -h hack/boilerplate/boilerplate.generatego.txt -r "$work/violations"
}
build_server() {
  enter_tree
  local module flags="-s -w"
  for module in component-base/version client-go/pkg/version; do
    module=k8s.io/kubernetes/vendor/k8s.io/$module
    flags+=" -X $module.gitVersion=v$version -X $module.gitMajor=1 -X $module.gitMinor=20 -X $module.gitTreeState=archive"
  done
  go build -p "${JOBS:-$(nproc)}" -trimpath -tags "providerless dockerless" -ldflags "$flags" -o "$work/bin/$1" "./cmd/$1"
}
finish() {
  mkdir "$work/result"
  local name
  for name in "${from_debian[@]}"; do
    cp "$work/root/usr/bin/$name" "$work/bin/"
  done
  cp "$work"/root/usr/share/doc/etcd-server/copyright "$work/result/etcd.copyright"
  cp "$work/tree/LICENSE" "$work/result/kubernetes.LICENSE"
  "$work/bin/kube-apiserver" --version | grep -Fx "Kubernetes v$version" || { echo "kube-apiserver does not run"; return 1; }
  "$work/bin/etcd" --version
  mv "$work/bin" "$work/result/bin"
  echo "$recipe" >"$work/result/recipe"
  sync -f "$work/result"
  rm -rf "$target"
  mv -T "$work/result" "$target"
}

write_source_lists
export version recipe target work
# Each step is a shell of its own, so that `nice` holds for it and `cd` stays inside.
run_step() {
  local name=$1
  shift
  step "$name" bash -c "set -euo pipefail; $(declare -f); from_debian=(${from_debian[*]}); \"\$@\"" bash "$@"
}
run_step "download tools" download_tools
run_step "download source" download_source
run_step "patch source" patch_source
run_step "generate OpenAPI" generate_openapi
for server in "${servers[@]}"; do
  run_step "build $server" build_server "$server"
done
run_step "finish" finish
echo "kubernetes: built $target in $SECONDS s"
