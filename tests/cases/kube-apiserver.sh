#!/bin/sh
# Builds kube-apiserver from Go modules: kube-apiserver.sh FILE
# The modules of its staging folder are not part of its own module, so their published versions replace them.
set -eu
version=1.33.4
file=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
go mod init download >/dev/null 2>&1
folder=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
cp -R "$folder" source
chmod -R u+w source
cd source
for module in $(sed -n 's|^[[:space:]]*\(k8s.io/[a-z-]*\) => ./staging/.*|\1|p' go.mod); do
    go mod edit -replace "$module=$module@v0${version#1}"
done
GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0 go build -o "$file" ./cmd/kube-apiserver
