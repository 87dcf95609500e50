#!/bin/sh
# Builds published providers from the Go module proxy and lays them out as a filesystem mirror: build.sh DIR
# They are what nobody here wrote: hashicorp/time of the plugin framework, hashicorp/local of the first SDK.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
mkdir -p "$1"
mirror=$(cd "$1" && pwd)
temp=$(mktemp -d "$mirror/.build-XXXXXX")
trap 'rm -rf "$temp"' EXIT
platform=$(go env GOOS)_$(go env GOARCH)

build() { # MODULE TYPE VERSION
	folder=$mirror/registry.terraform.io/hashicorp/$2/$3/$platform
	program=$folder/terraform-provider-$2_v$3
	[ ! -x "$program" ] || return 0
	CGO_ENABLED=0 GOFLAGS=-buildvcs=false GOBIN=$temp go install -p 2 -trimpath -ldflags "-s -w" "$1@v$3"
	mkdir -p "$folder"
	mv "$temp/terraform-provider-$2" "$program"
}

cd "$temp"
build github.com/hashicorp/terraform-provider-time time 0.14.2
build github.com/terraform-providers/terraform-provider-local local 1.4.0
