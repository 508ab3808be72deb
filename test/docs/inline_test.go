package docs

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

// Foreign flags that pages may name by themselves: of agents and tools, not ours.
var foreign = []string{
	"--dangerously-skip-permissions", "--resume", "--continue", "--security-opt", "--privileged", "--no-verify",
	"--userns", "--bind", "--mirror", "--prune", "--force-with-lease", "--force", "--ignore-scripts", "--bare", "--help", "--version", "--check", "--cap-add", "--network",
}

var (
	flagWord = regexp.MustCompile(`(^|[\s\[|])(--?[a-z][a-z-]*)`)
	placeOf  = regexp.MustCompile(`^[A-Z<\[…(]`) // CMD, [SESSION], …
)

// TestInline: code in running text names commands and flags that exist.
func TestInline(t *testing.T) {
	h := &helper{known: map[string]string{}}
	for _, path := range pages(t) {
		for _, s := range parse(read(t, path)).spans {
			if why := h.wrong(s.text); why != "" {
				t.Errorf("%s, line %d: `%s`: %s", filepath.Base(path), s.line, s.text, why)
			}
		}
	}
	for _, wrong := range []string{"ringfence frobnicate", "ringfence run --frobnicate", "ringfence policy shwo", "--frobnicate=1"} {
		if h.wrong(wrong) == "" {
			t.Errorf("nobody would see that `%s` does not exist", wrong)
		}
	}
}

// helper asks ringfence for its help, once each.
type helper struct {
	known map[string]string
	all   string
}

// of is the help of a command, "" if there is none.
func (h *helper) of(words ...string) string {
	key := strings.Join(words, " ")
	if text, ok := h.known[key]; ok {
		return text
	}
	out, err := exec.Command(stage.Ringfence, append([]string{"help"}, words...)...).Output()
	if err != nil || !strings.HasPrefix(string(out), "usage: ringfence "+key) && key != "" {
		out = nil
	}
	h.known[key] = string(out)
	return h.known[key]
}

// everything is the help of all commands.
func (h *helper) everything() string {
	if h.all == "" {
		for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(h.of(), -1) {
			h.all += h.of(m[1])
			for _, sub := range regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(h.of(m[1]), -1) {
				h.all += h.of(m[1], sub[1])
			}
		}
	}
	return h.all
}

// has reports whether a help lists a flag.
func has(help, flag string) bool {
	return regexp.MustCompile(`(?m)^  -?-?` + regexp.QuoteMeta(strings.TrimLeft(flag, "-")) + `( |$)`).MatchString(help)
}

// wrong says what of a piece of code does not exist.
func (h *helper) wrong(code string) string {
	if !strings.HasPrefix(code, "ringfence ") {
		flag := flagWord.FindStringSubmatch(code)
		if !strings.HasPrefix(code, "--") || flag == nil || slices.Contains(foreign, flag[2]) || has(h.everything(), flag[2]) {
			return ""
		}
		return "no command has the flag " + flag[2]
	}
	own, _, _ := strings.Cut(code, " -- ")
	words := strings.Fields(own)[1:]
	if len(words) == 0 || placeOf.MatchString(words[0]) || strings.HasPrefix(words[0], "-") {
		return ""
	}
	help := ""
	for alt := range strings.SplitSeq(strings.TrimRight(words[0], ",.;:"), "|") {
		if help = h.of(alt); help == "" {
			return "there is no such command"
		}
	}
	if strings.Contains(help, "\nsubcommands:\n") && len(words) > 1 && regexp.MustCompile(`^[a-z]+$`).MatchString(words[1]) {
		sub := h.of(strings.TrimRight(words[0], ",."), words[1])
		if sub == "" && !strings.Contains(help, "[SESSION]") {
			return "there is no such subcommand"
		}
		help += sub
	}
	agent := strings.Contains(help, "[flags] [[--] ARGS]")
	for _, m := range flagWord.FindAllStringSubmatch(own, -1) {
		if agent && slices.Contains(foreign, m[2]) {
			return "" // from here on it is the agent's
		}
		if !has(help, m[2]) && m[2] != "--help" {
			return "it has no flag " + m[2]
		}
	}
	return ""
}
