package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/explain/policyimport"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// policyImport turns the settings of another tool into policy, and says what of them it
// could not carry over.
func policyImport() *command.Command {
	cmd := &command.Command{Name: "policy import", Args: "--claude | --codex | --srt [flags]", Short: "turn the settings of another tool into policy",
		Long:     "Turns the settings of another tool into policy and prints it, with the source of every\nline, and what could not be carried over. Nothing is saved unless you say so.",
		Examples: []string{"ringfence policy import --claude", "ringfence policy import --codex --from .codex/config.toml"}}
	f := &cmd.Flags
	tools := map[string]*bool{
		"claude": f.Bool("claude", false, "read Claude Code's settings"),
		"codex":  f.Bool("codex", false, "read Codex' configuration"),
		"srt":    f.Bool("srt", false, "read the settings of Anthropic's sandbox runtime"),
	}
	from := f.String("from", "", "read `FILE` instead of your own settings")
	save := f.Bool("save", false, "write it into your policy file")
	asJSON := f.Bool("json", false, "print it as JSON")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		tool := ""
		for _, t := range policyimport.Tools() {
			if *tools[t] && tool != "" {
				return 2, fault.New(fault.Usage, "", "of --claude, --codex and --srt give one")
			}
			if *tools[t] {
				tool = t
			}
		}
		if tool == "" {
			return 2, fault.New(fault.Usage, "ringfence policy import --claude", "policy import needs --claude, --codex or --srt")
		}
		r, file, err := readForeign(c, tool, *from)
		if err != nil {
			return 2, err
		}
		if *asJSON {
			if err := foreignJSON(c, file, r); err != nil {
				return 2, err
			}
		} else if err := foreignText(c, file, r); err != nil {
			return 2, err
		}
		if !*save {
			c.Say("nothing was saved; --save writes it")
			return 0, nil
		}
		return saveForeign(c, r)
	}
	return cmd
}

// readForeign finds and reads the settings.
func readForeign(c *command.Console, tool, from string) (policyimport.Result, string, error) {
	home := c.Getenv("HOME")
	file := map[string]string{"claude": filepath.Join(home, ".claude/settings.json"), "codex": filepath.Join(home, ".codex/config.toml"), "srt": filepath.Join(home, ".srt-settings.json")}[tool]
	if own := c.Getenv("CODEX_HOME"); tool == "codex" && filepath.IsAbs(own) {
		file = filepath.Join(own, "config.toml")
	}
	if from != "" {
		var err error
		if file, err = filepath.Abs(from); err != nil {
			return policyimport.Result{}, "", err
		}
	}
	data, err := command.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return policyimport.Result{}, "", fault.New(fault.Usage, "--from names the file", "%s is not there", plan.Show(file))
	}
	if err != nil {
		return policyimport.Result{}, "", err
	}
	s, err := lookHere(c)
	if err != nil {
		return policyimport.Result{}, "", err
	}
	r, err := policyimport.Read(tool, data, policyimport.Place{File: plan.Show(file), Home: s.User.Home, Dir: s.ProjectDir(), PATH: filepath.SplitList(c.Getenv("PATH"))})
	if err != nil {
		err = fault.New(fault.Usage, "", "%w", err)
	}
	return r, plan.Show(file), err
}

// foreignText prints the policy, and behind it as comments what is not in it.
func foreignText(c *command.Console, file string, r policyimport.Result) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Imported from %s: %d values carried over, %d not.\n\n", file, len(r.Carried), len(r.Left))
	if err := policy.Write(&b, r.Policy); err != nil {
		return err
	}
	if len(r.Changed) > 0 {
		fmt.Fprint(&b, "\n# Written in another way:\n")
	}
	for _, text := range r.Changed {
		fmt.Fprintf(&b, "#   %s\n", text)
	}
	if len(r.Left) > 0 {
		fmt.Fprint(&b, "\n# Not carried over:\n")
	}
	for _, l := range r.Left {
		// On one line, whatever a stranger's file says: the next one would be policy.
		note := strings.ReplaceAll(fmt.Sprintf("line %d, %s: %s", l.Line, leftName(l), l.Why), "\n", " ")
		fmt.Fprintf(&b, "#   %s\n", note)
	}
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(c.Out, command.Inert(strings.TrimSuffix(line, "\n")))
	}
	return nil
}

// leftName is the key of a value, and the value where it is told.
func leftName(l policyimport.Left) string {
	if l.Value == "" {
		return l.Key
	}
	return fmt.Sprintf("%s = %q", l.Key, short(l.Value))
}

// short cuts a value that is only shown.
func short(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func foreignJSON(c *command.Console, file string, r policyimport.Result) error {
	var b bytes.Buffer
	if err := policy.Write(&b, r.Policy); err != nil {
		return err
	}
	return c.JSONLine(struct {
		File    string              `json:"file"`
		Policy  string              `json:"policy"`
		Carried []string            `json:"carried"`
		Changed []string            `json:"changed,omitempty"`
		Left    []policyimport.Left `json:"not_carried"`
	}{file, b.String(), r.Carried, r.Changed, r.Left})
}

// saveForeign adds it to the user's policy file.
func saveForeign(c *command.Console, r policyimport.Result) (int, error) {
	dirs, err := c.Dirs()
	if err != nil {
		return 2, err
	}
	file := filepath.Join(dirs.Config, "policy.toml")
	old, err := policy.ReadFile(file, false)
	if err != nil {
		return 2, err
	}
	text := old
	if old == nil {
		var b bytes.Buffer
		if err := policy.Write(&b, r.Policy); err != nil {
			return 2, err
		}
		text = b.Bytes()
	} else if err := sameMode(old, file, r.Policy); err != nil {
		return 2, err
	} else if text, err = policy.Append(old, file, additions(r.Policy)); err != nil {
		return 2, err
	}
	if err := policy.Save(file, old, text, false); err != nil {
		return 2, fault.New(fault.Failed, "run it again", "not saved: %w", err)
	}
	c.Say("saved in %s", plan.Show(file))
	if old != nil && len(r.Policy.Env.Set) > 0 {
		c.Say("hint: only lists are added to a file that is there: write [env.set] into it by hand")
	}
	return 0, nil
}

// sameMode refuses to add a list that was the whole list where it comes from to a file in
// which it would be more than that.
func sameMode(old []byte, file string, add *policy.Policy) error {
	want := add.Network.Mode
	if want == nil {
		return nil
	}
	have, err := policy.Decode(bytes.NewReader(old), file)
	if err != nil {
		return err
	}
	if have.Network.Mode != nil && have.Network.Mode.Value == want.Value {
		return nil
	}
	return fault.New(fault.Refused, "write mode = \""+want.Value+"\" below [network] in "+plan.Show(file)+", then run it again",
		"the settings mean mode %q: added to a file that does not say so, their hosts would be an addition to others", want.Value)
}

// additions are the lists of a policy.
func additions(p *policy.Policy) (out []policy.Addition) {
	for _, l := range []struct {
		section, key string
		list         policy.List
	}{
		{"workspace", "paths", p.Workspace.Paths}, {"workspace", "mask", p.Workspace.Mask}, {"files", "read", p.Files.Read}, {"files", "write", p.Files.Write},
		{"files", "mask", p.Files.Mask}, {"env", "pass", p.Env.Pass}, {"network", "allow", p.Network.Allow}, {"network", "deny", p.Network.Deny},
	} {
		for _, r := range l.list {
			out = append(out, policy.Addition{Section: l.section, Key: l.key, Value: r.Value, Comment: r.Source.String()})
		}
	}
	return out
}
