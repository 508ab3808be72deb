package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// hyperfine times commands without a shell, five runs each, for several rounds: the
// rounds spread whatever else the machine does over all of them.
func (b *bench) hyperfine(dir string, rounds int, commands ...[]string) ([]times, error) {
	file := b.dir + "/hyperfine.json"
	args := []string{"hyperfine", "-N", "--style", "none", "--warmup", "1", "--runs", "5", "--export-json", file}
	for _, c := range commands {
		args = append(args, quote(c))
	}
	all := make([]times, len(commands))
	for range rounds {
		if _, err := run(b.command(dir, args...)); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var out struct{ Results []struct{ Times times } }
		if err := json.Unmarshal(data, &out); err != nil || len(out.Results) != len(commands) {
			return nil, fmt.Errorf("hyperfine: %d results (%w)", len(out.Results), err)
		}
		for i, r := range out.Results {
			all[i] = append(all[i], r.Times...)
		}
	}
	return all, nil
}

// quote writes an argv as hyperfine splits it.
func quote(argv []string) string {
	var words []string
	for _, a := range argv {
		words = append(words, "'"+strings.ReplaceAll(a, "'", `'\''`)+"'")
	}
	return strings.Join(words, " ")
}
