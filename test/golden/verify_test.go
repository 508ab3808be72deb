package golden

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestVerify holds the list of checks: number, name, what it defends, by which
// mechanism and wall, and that it held. What it saw is another text on each machine.
func TestVerify(t *testing.T) {
	golden(t, "verify.txt", func(t *testing.T, r role) string {
		p := newPlace(t, r, "base")
		out, talk, code := p.ringfence("verify", "--json")
		var report map[string]json.RawMessage
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v, exit %d\n%s", err, code, talk)
		}
		var rows []object
		if err := json.Unmarshal(report["rows"], &rows); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		keys := map[string]bool{}
		for _, row := range rows {
			for key := range row {
				keys[key] = true
			}
			fmt.Fprintf(&b, "%v %s: %s\n    %s, wall %s: %s\n", row["n"], row["name"], row["defence"], row["mechanism"], cmp.Or(text(row["wall"]), "none"), row["result"])
			if row["result"] != "held" {
				t.Logf("%s: %s", row["name"], row["detail"])
			}
		}
		return fmt.Sprintf("exit %d\nrung %s\nkeys %q\nkeys of a row %q\n%s", code, report["rung"], slices.Sorted(maps.Keys(report)), slices.Sorted(maps.Keys(keys)), b.String())
	})
}
