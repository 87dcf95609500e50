#!/bin/sh
# Builds published providers and lays them out as a filesystem mirror: build.sh DIR [SOURCE...]
# Two come from the Go module proxy: hashicorp/time uses the plugin framework, and hashicorp/local the first SDK. Each
# SOURCE is a git directory named `[OWNER+]terraform-provider-TYPE`, or contains such a directory as `repo`. The newest
# release of each SOURCE is built as a provider of OWNER, by default hashicorp.
set -eu
[ $# -ge 1 ] || { echo "usage: $0 DIR [SOURCE...]" >&2; exit 2; }
mkdir -p "$1"
mirror=$(cd "$1" && pwd)
shift
temp=$(mktemp -d "$mirror/.build-XXXXXX")
trap 'rm -rf "$temp"' EXIT
platform=$(go env GOOS)_$(go env GOARCH)
export CGO_ENABLED=0 GOBIN="$temp"

install() { # NAMESPACE TYPE VERSION: moves the program that was built
	folder=$mirror/registry.terraform.io/$1/$2/$3/$platform
	mkdir -p "$folder"
	mv "$temp/terraform-provider-$2" "$folder/terraform-provider-$2_v$3"
}

is_there() { # NAMESPACE TYPE VERSION
	[ -x "$mirror/registry.terraform.io/$1/$2/$3/$platform/terraform-provider-$2_v$3" ]
}

published() { # MODULE TYPE VERSION
	is_there hashicorp "$2" "$3" && return 0
	(cd "$temp" && GOFLAGS=-buildvcs=false go install -p 2 -trimpath -ldflags "-s -w" "$1@v$3")
	install hashicorp "$2" "$3"
}

from_source() { # SOURCE
	git=$1
	[ ! -d "$1/repo" ] || git=$1/repo
	name=$(basename "$1")
	case $name in *+*) namespace=${name%%+*} ;; *) namespace=hashicorp ;; esac
	type=${name##*terraform-provider-}
	tag=$(git --git-dir="$git" tag | grep -E '^v[0-9]+\.[0-9]+\.[0-9]+$' | sort -V | tail -n 1)
	is_there "$namespace" "$type" "${tag#v}" && return 0
	mkdir "$temp/$type"
	git --git-dir="$git" archive "$tag" | tar x -C "$temp/$type"
	(cd "$temp/$type" && go build -p 2 -buildvcs=false -trimpath -ldflags "-s -w" -o "$temp/terraform-provider-$type" .)
	install "$namespace" "$type" "${tag#v}"
}

published github.com/hashicorp/terraform-provider-time time 0.14.2
published github.com/terraform-providers/terraform-provider-local local 1.4.0
for one; do
	from_source "$one"
done
