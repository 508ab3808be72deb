package install

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/strictjson"
)

// rule is an element of a list in the settings that an administrator gives to every user
// of Claude Code, or with a name a member of an object. Rules of ours go beside whatever
// stands there, and exactly those are taken out again. The text is edited where it must
// be and else left as it is: order, spacing and keys that nobody here knows stay.
//
// # What is left at risk
//
//   - A text that is not strict JSON is refused, comments included. The agent ignores
//     such a file as a whole, so that the gate would be open.
//   - Who can write /etc can take the gate away. It is made for people who would forget,
//     not against root.
type rule struct {
	List    []string `json:"list"`           // the names that lead there
	Name    string   `json:"name,omitempty"` // of a member
	Element string   `json:"element"`        // JSON
}

// reads are the tools whose results are judged: what comes in by them may be a stranger's.
const reads = "Bash|BashOutput|Read|Grep|WebFetch|WebSearch|Task|mcp__.*"

// insideProgram is where a sandbox has ringfence. Outside only root could put one there.
const insideProgram = "/.ringfence/bin/ringfence"

// A mark is in every hook of ours, whichever program it names.
const (
	gateMark = " hook claude --gate || exit 2"
	beltMark = " hook claude || exit 2"
)

// hookRule runs ringfence, in a sandbox the one that is there. A hook that cannot be run does
// not stop anything, so the shell is told to.
func hookRule(program, mark, event, matcher string) rule {
	quoted := "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
	command := "r=" + insideProgram + "; [ -x $r ] || r=" + quoted + `; "$r"` + mark
	m := map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command, "timeout": 60}}}
	if matcher != "" {
		m["matcher"] = matcher
	}
	return rule{List: []string{"hooks", event}, Element: mustJSON(m)}
}

// gateRules are the rules of the gate.
func gateRules(program string) []rule {
	rules := []rule{
		hookRule(program, gateMark, "SessionStart", ""), hookRule(program, gateMark, "UserPromptSubmit", ""), hookRule(program, gateMark, "PreToolUse", "*"),
		hookRule(program, gateMark, "PostToolUse", reads),
		// By this variable the agent would run no hooks at all.
		{List: []string{"env"}, Name: "CLAUDE_CODE_SIMPLE", Element: mustJSON("0")},
	}
	return append(rules, denied(append(gateDeny, unread()...)...)...)
}

// bareRules are for an agent that runs without a sandbox: the hook before its commands, and
// what it may not read or edit. strict adds rules by the text of a command, which hold in a
// sandbox as well and know no harmless case, and switches the agent's own sandbox on.
func bareRules(program string, strict bool) []rule {
	rules := append([]rule{hookRule(program, beltMark, "PreToolUse", "Bash"), hookRule(program, beltMark, "PostToolUse", reads)}, denied(append(append(gateDeny, unread()...), unedited...)...)...)
	for _, k := range knownsecrets.Keepers() {
		rules = append(rules, rule{List: []string{"sandbox", "filesystem", "denyRead"}, Element: mustJSON("~/" + k)})
	}
	if !strict {
		return rules
	}
	return append(append(rules, denied("Bash(rm -rf *)", "Bash(git reset --hard*)", "Bash(curl *|bash*)", "Bash(wget *|bash*)")...),
		rule{List: []string{"sandbox"}, Name: "enabled", Element: "true"}, rule{List: []string{"sandbox"}, Name: "allowUnsandboxedCommands", Element: "false"})
}

func denied(texts ...string) (out []rule) {
	for _, d := range texts {
		out = append(out, rule{List: []string{"permissions", "deny"}, Element: mustJSON(d)})
	}
	return out
}

// gateDeny are rules in the agent's own words for what the hook denies in all forms. They
// hold where hooks do not run.
var gateDeny = []string{
	"Bash(sudo:*)", "Bash(doas:*)", "Bash(pkexec:*)", "Bash(terraform destroy:*)", "Bash(tofu destroy:*)",
	"Bash(git push --force:*)", "Bash(git push -f:*)", "Bash(chmod 777:*)", "Bash(chmod -R 777:*)",
}

// unedited are what a shell runs when it starts.
var unedited = []string{"Edit(~/.bashrc)", "Edit(~/.zshrc)", "Edit(~/.profile)", "Edit(~/.bash_profile)", "Edit(~/.config/fish/**)"}

// unread are the rules for credentials, as a file and as a directory: the rule need not know
// which of them is there.
func unread() (out []string) {
	for _, k := range knownsecrets.Keepers() {
		if path.Ext(k) == "" || strings.Count(k, ".") == 1 {
			out = append(out, "Read(~/"+k+"/**)")
		}
		out = append(out, "Read(~/"+k+")")
	}
	return out
}

func mustJSON(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers only
	}
	return string(out)
}

// same holds for an element that is a rule of ours: the rule itself, or a hook of the
// gate that names another program.
func (r rule) same(element []byte) bool {
	var a, b any
	if json.Unmarshal(element, &a) != nil || json.Unmarshal([]byte(r.Element), &b) != nil {
		return false
	}
	if reflect.DeepEqual(a, b) {
		return true
	}
	mark := beltMark
	if strings.HasSuffix(commandOf(b), gateMark) {
		mark = gateMark
	}
	return r.List[0] == "hooks" && strings.HasSuffix(commandOf(a), mark) && strings.Contains(commandOf(a), "ringfence")
}

// commandOf is the one command of a hook; "" if there are more.
func commandOf(v any) string {
	m, _ := v.(map[string]any)
	hooks, _ := m["hooks"].([]any)
	if len(hooks) != 1 {
		return ""
	}
	h, _ := hooks[0].(map[string]any)
	s, _ := h["command"].(string)
	return s
}

// checkSettings refuses a text that cannot be edited.
func checkSettings(text []byte, name string) error {
	if len(strings.TrimSpace(string(text))) == 0 {
		return fault.New(fault.Refused, "write {} into it, or remove it", "%q is empty", name)
	}
	err := strictjson.Walk(text, nil)
	if err == nil {
		if strings.TrimSpace(string(text))[0] != '{' {
			return fault.New(fault.Refused, "", "%q does not hold an object", name)
		}
		return nil
	}
	bad, ok := err.(*strictjson.Error)
	if !ok {
		return err
	}
	line := 1 + strings.Count(string(text[:min(bad.Offset, len(text))]), "\n")
	if bad.Offset < len(text) && text[bad.Offset] == '/' {
		return fault.New(fault.Refused, "take the comments out: the agent ignores a file that has some", "%s:%d: a comment is not JSON; the file is left as it is", name, line)
	}
	return fault.New(fault.Refused, "mend it first: the agent ignores it as it is", "%s:%d: %s; the file is left as it is", name, line, bad.Reason)
}

func (r rule) String() string { return fmt.Sprintf("%s: %s", strings.Join(r.List, "."), r.Element) }
