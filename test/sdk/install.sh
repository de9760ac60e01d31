#!/bin/sh
# Installs the SDKs that the tests run, each with its language's own client, into a folder outside
# the checkout whose name is made of their versions. Prints the folder. What cannot be installed is
# missing in the folder, and its tests are skipped.
cd "$(dirname "$0")/programs" || exit 1
sources="package.json requirements.txt go/go.mod go/go.sum go/main.go go/rudder.go go/segment.go java/pom.xml java/Sdk.java"
# Packages of Python contain code for one version of it.
version=$( (cat $sources && python3 --version) 2>&1 | cksum | cut -d " " -f 1)
packages=${XDG_CACHE_HOME:-$HOME/.cache}/pixelmill/sdks-$version
mkdir -p "$packages"
part=$(mktemp -d "$packages/part.XXXXXX")
programs=$PWD

# Installs one language's SDKs into a folder that appears when they are complete. An installation
# that failed is not repeated within an hour: its registry may be away.
install() {
  [ -d "$packages/$1" ] && return
  [ -z "$(find "$packages/$1.log" -mmin -60 2>/dev/null)" ] || return
  mkdir "$part/$1"
  if (cd "$part/$1" && "install_$1" >"$packages/$1.log" 2>&1); then
    mv -T "$part/$1" "$packages/$1" 2>/dev/null
  fi
}
install_npm() {
  cp "$programs/package.json" . &&
    timeout 180 npm install --fetch-retries 1 --fetch-timeout 60000 --no-audit --no-fund --ignore-scripts
}
install_python() {
  timeout 180 python3 -m pip install --retries 1 --target . -r "$programs/requirements.txt"
}
install_go() {
  cd "$programs/go" && timeout 180 go build -o "$part/go/sdks" .
}
install_java() {
  timeout 180 mvn -B -q -f "$programs/java/pom.xml" dependency:copy-dependencies \
    "-DoutputDirectory=$PWD" "-DbuildDirectory=$PWD/target" &&
    javac -nowarn -cp "./*" -d . "$programs/java/Sdk.java"
}

for language in npm python go java; do
  install "$language" &
done
wait
rm -rf "$part"
echo "$packages"
