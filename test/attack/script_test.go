package attack

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// marker is the first line a script prints: without it nothing ran, and silence
// must not pass for "closed".
const marker = "inside"

// titleMark is what ringfence itself tells a terminal just before: keep your title, and
// say that this is fenced, and which session it is.
var titleMark = regexp.MustCompile(`^\x1b\[22;0t\x1b\]2;\[fenced\] [a-z0-9]+\a`)

// canaryForm returns a regular expression that matches value and not itself, so
// that a script which holds it does not find its own text.
func canaryForm(value string) string {
	return value[:3] + "[" + value[3:4] + "]" + value[4:]
}

// variables are what every script knows. None of them gives the canary away.
func (h *host) variables(inside bool) map[string]string {
	v := map[string]string{
		"WS":     h.ws,
		"H":      h.home,
		"P":      h.ws + "/.probe",
		"U":      fmt.Sprint(h.req.UID),
		"CANRE":  canaryForm(h.req.Canary),
		"STATE":  h.home + "/.local/state/ringfence",
		"HOSTRE": canaryForm(hostName),
		"KEY":    keyName,
		"SHM":    fmt.Sprint(shmKey),
		"PORT":   fmt.Sprint(canaryPort),
		"NAME":   abstractName,
		"ADDR":   hostAddress,
		"T0":     fmt.Sprint(h.born), // the canaries are younger
		"RUNG":   h.req.Rung,
		"SUP":    "$$", // what stands above the script; PID 1 in the sandbox
	}
	if inside {
		v["SUP"] = "1"
	}
	return v
}

// hostVariables are for scripts on the host.
func (h *host) hostVariables() map[string]string {
	view := ""
	if slices.Contains(h.req.Enter, "--review") {
		view = "--review"
	}
	return map[string]string{
		"CAN":     h.req.Canary,
		"RF":      binDir + "/ringfence",
		"TTYLOG":  ttyLog,
		"SCRATCH": scratch,
		"REPORT":  reportFile,
		"VIEW":    view,
	}
}

// hostFunctions help the scripts of kind launch.
const hostFunctions = `
fail() { echo "FAIL: $*"; exit 1; }
# refused CMD...: it must say why and start nothing
refused() {
	local out status=0
	out=$("$@" 2>&1 </dev/null) || status=$?
	[ "$status" = 125 ] || fail "status $status of: $*: $out"
	grep -q '^ringfence: error: ' <<<"$out" || fail "no reason given by: $*: $out"
	! grep -q "^inside" <<<"$out" || fail "the command ran: $*"
}
# listed PATH RANK [STATE]: the report of the last session has it
listed() {
	"$RF" diff --json 2>/dev/null | /usr/bin/python3 -c '
import base64, json, sys
for e in json.load(sys.stdin)["entries"]:
	name = base64.b64decode(e["path_bytes"]) if "path_bytes" in e else e["path"].encode()
	if name == sys.argv[1].encode() and e["rank"] == sys.argv[2] and sys.argv[3:] in ([], [e["state"]]):
		sys.exit(0)
sys.exit(1)' "$@"
}
`

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,%+@-]+$`)

// quote makes a word of a string, for bash.
func quote(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// text is a script with everything it knows before it.
func text(vars map[string]string, first, script string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		value := vars[name]
		if value != "$$" {
			value = quote(value)
		}
		fmt.Fprintf(&b, "%s=%s\n", name, value)
	}
	return b.String() + first + script
}
