package toolbox

import (
	"errors"
	"io/fs"
	"os"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// recipes are how a tool of each source is fetched, by the host's own package manager in a
// sandbox: $1 is the package, $2 the directory that it comes to. The registry door gives them
// releases that are old enough, and no script of a package is run but where policy says so.
var recipes = map[string]string{
	"npm": `exec npm install --global --prefix "$2" --no-audit --no-fund --loglevel=error "$1"`,

	"pypi": `python3 -c 'import ensurepip' 2>/dev/null || { echo "python3 has no venv here: install python3-venv on this machine" >&2; exit 1; }
python3 -m venv "$2"
"$2/bin/python" -m pip install --quiet --no-input --disable-pip-version-check "$1"
rm -f "$2"/bin/pip* "$2"/bin/activate* "$2"/bin/Activate*`,

	"go": `GOBIN="$2/bin" exec go install "$1@latest"`,

	"crates": `exec cargo install --quiet --locked --root "$2" "$1"`,

	// A name that no package has would be a pattern to apt-get, or with a last "-" an order to
	// remove: it is looked up first. apt proves the archive's signature by the host's keys, and by it the index and every
	// package. What the host has installed is not fetched again. dpkg-deb unpacks, and no
	// script of a package is run.
	"debian": `d=$(mktemp -d)
mkdir -p "$d/lists/partial" "$d/cache/archives/partial"
apt() { p=$1; shift; "$p" -qq -o Dir::Etc::Parts=/dev/null -o Dir::State::Lists="$d/lists" -o Dir::Cache="$d/cache" -o Dir::State::status=/var/lib/dpkg/status -o Debug::NoLocking=true \
  -o APT::Sandbox::User=root -o APT::Install-Recommends=false -o Acquire::Languages=none -o Acquire::AllowInsecureRepositories=false "$@"; }
apt apt-get update
apt apt-cache pkgnames | grep -Fxq -- "$1" || { echo "the sources of this machine have no package $1" >&2; exit 1; }
apt apt-get --yes --download-only install "$1"
set -- "$1" "$2" "$d"/cache/archives/*.deb
[ -e "$3" ] || { echo "$1 is installed on this machine already" >&2; exit 1; }
to=$2; shift 2
for deb; do dpkg-deb --extract "$deb" "$to"; done
missing=$(find "$to" -type f -path '*bin/*' -perm -1 -exec env LD_LIBRARY_PATH="$(find "$to" -name '*.so*' -printf '%h:' | head -c 4000)" ldd {} + 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => not found$/\1/p' | sort -u | head -8 | tr '\n' ' ')
[ -z "$missing" ] || echo "these libraries are not there, and what needs them will not start: $missing" >&2`,
}

// largest bounds a single file: 4 GiB, or 8 where the shell counts in KiB.
const largest = "ulimit -f 8388608\n"

// Recipe is the command that fetches a tool, inside, and what it needs to see for that.
func Recipe(t policy.Tool, to string) (argv []string, shown []plan.Mount) {
	if t.Source == "debian" {
		for _, p := range aptNeeds {
			if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) {
				shown = append(shown, plan.Mount{Src: p, Dst: p, Why: "apt"})
			}
		}
	}
	return []string{"sh", "-euc", largest + recipes[t.Source], "sh", t.Name, to}, shown
}

// aptNeeds are the host's keys, its choices among versions, and what it has installed. Neither
// its sources, which may have passwords in them, nor its logins: those the broker has.
var aptNeeds = []string{"/etc/apt/trusted.gpg", "/etc/apt/trusted.gpg.d", "/etc/apt/keyrings", "/etc/apt/preferences", "/etc/apt/preferences.d", "/var/lib/dpkg/status"}
