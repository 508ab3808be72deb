package attack

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/session/launch"
)

// plants lists what lies about on the host, one thing a line: the kind (file,
// socket) and the path. ~ is the home, %U the user's number.
//
//go:embed testdata/host.txt
var plants string

// planted returns the paths of one kind.
func (h *host) planted(kind string) []string {
	var out []string
	for line := range strings.Lines(plants) {
		k, path, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || k != kind {
			continue
		}
		path = strings.ReplaceAll(path, "%U", fmt.Sprint(h.req.UID))
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = h.home + "/" + rest
		}
		out = append(out, path)
	}
	return out
}

// plant writes the canary to every file, readable for all: only the sandbox is to
// stand in the way.
func (h *host) plant() error {
	for _, path := range h.planted("file") {
		if err := put(path, h.canaryFile(path), 0o644); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(fmt.Sprintf("/run/user/%d/ringfence", h.req.UID), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(scratch, 0); err != nil {
		return err
	}
	if err := os.Chmod(scratch, 0o777); err != nil {
		return err
	}
	return filepath.Walk(h.home+"/.local/state/ringfence", func(path string, st os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, st.Mode()&0o700) // as ringfence itself would leave it
	})
}

// What an agent's own files hold beside what may be shown.
const (
	claudeJSON = `{"theme": "dark", "primaryApiKey": "CANARY", "oauthAccount": {"emailAddress": "CANARY"},
"projects": {"/home/other": {"history": ["CANARY"], "allowedTools": []}},
"mcpServers": {"forge": {"command": "forge", "env": {"FORGE_TOKEN": "CANARY"}, "headers": {"Authorization": "Bearer CANARY"}}}}
`
	// fakeAgent runs what it is given, behind the option that tells it of MCP servers.
	fakeAgent = "#!/bin/sh\ncase $1 in --mcp-config=/*) shift ;; esac\nexec \"$@\"\n"

	claudeSettings = `{"model": "opus", "apiKeyHelper": "echo CANARY", "env": {"FORGE_TOKEN": "CANARY"}}
`
)

// canaryFile is a canary in the form of the file that holds it: some are read by
// the programs of the control, too.
func (h *host) canaryFile(path string) string {
	switch {
	case filepath.Base(path) == ".gitconfig":
		return "[user]\n\tname = Canary\n\temail = canary@example.invalid\n[credential]\n\thelper = store # " + h.req.Canary + "\n"
	case strings.HasSuffix(path, "/.claude.json"):
		return strings.ReplaceAll(claudeJSON, "CANARY", h.req.Canary)
	case strings.HasSuffix(path, "/.claude/settings.json"):
		return strings.ReplaceAll(claudeSettings, "CANARY", h.req.Canary)
	case strings.HasSuffix(path, "/CLAUDE.md"), strings.HasSuffix(path, "/.keep"):
		return "nothing secret\n" // these are shown
	case strings.HasSuffix(path, ".json"):
		return fmt.Sprintf("{\"token\": %q}\n", h.req.Canary)
	case strings.HasPrefix(filepath.Base(path), ".bash"), filepath.Base(path) == ".profile":
		return "# " + h.req.Canary + "\n"
	case strings.Contains(path, "/bin/"):
		return fakeAgent // programs on PATH are no secret
	}
	return h.req.Canary + "\n"
}

func put(path, content string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		return err
	}
	if strings.Contains(path, "/bin/") {
		return os.Chmod(path, 0o755)
	}
	return nil
}

// writeEtc writes the accounts, of which the sandbox shows one.
func (h *host) writeEtc() error {
	passwd := "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" +
		"colleague:x:1500:1500::/home/colleague:/bin/bash\nbuilder:x:1501:1501::/home/builder:/bin/bash\n"
	group := "root:x:0:\nnogroup:x:65534:\ncolleague:x:1500:\nbuilder:x:1501:\n"
	if h.req.UID != 0 {
		passwd += fmt.Sprintf("%s:x:%d:%d::%s:/bin/bash\n", h.name, h.req.UID, h.req.GID, h.home)
		group += fmt.Sprintf("%s:x:%d:\n", h.name, h.req.GID)
	}
	for path, content := range map[string]string{
		"/etc/passwd": passwd, "/etc/group": group, "/etc/hostname": hostName + "\n",
		"/etc/hosts": "127.0.0.1 localhost " + hostName + "\n::1 localhost\n" + hostAddress + " intranet." + h.req.Canary + "\n",
	} {
		if err := put(path, content, 0o644); err != nil {
			return err
		}
	}
	if h.req.Ceiling == "" {
		return nil
	}
	return put(launch.Ceiling, h.req.Ceiling, 0o644)
}

// makeWorkspace makes a repository with one commit, and the probe in it.
func (h *host) makeWorkspace() error {
	probe, err := os.ReadFile(binDir + "/probe")
	if err != nil {
		return err
	}
	for path, content := range map[string]string{
		"README": "a project\n", ".gitignore": ".probe\n", ".probe": string(probe),
	} {
		if err := put(h.ws+"/"+path, content, 0o755); err != nil {
			return err
		}
	}
	cmd := exec.Command("/bin/sh", "-ec", `git init -q -b main . && git add -A && git commit -qm first`)
	cmd.Dir = h.ws
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + h.home, "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the workspace: %w\n%s", err, out)
	}
	return nil
}

// giveOver makes the user the owner of what is his.
func (h *host) giveOver() error {
	if os.Getuid() != 0 || h.req.UID == 0 {
		return nil
	}
	for _, top := range []string{h.home, fmt.Sprintf("/run/user/%d", h.req.UID)} {
		err := filepath.Walk(top, func(path string, _ os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, h.req.UID, h.req.GID)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// environment is what the launching shell has: what a sandbox may keep, and what
// it must not.
func (h *host) environment() []string {
	env := []string{
		"HOME=" + h.home, "USER=" + h.name, "LOGNAME=" + h.name, "SHELL=/bin/bash", "TERM=xterm-256color", "LANG=C.UTF-8",
		"PATH=" + h.home + "/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"XDG_CONFIG_HOME=" + h.home + "/.config", "XDG_STATE_HOME=" + h.home + "/.local/state",
		"XDG_CACHE_HOME=" + h.home + "/.cache", "XDG_DATA_HOME=" + h.home + "/.local/share",
		fmt.Sprintf("XDG_RUNTIME_DIR=/run/user/%d", h.req.UID),
	}
	for line := range strings.Lines(plants) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "env "); ok {
			env = append(env, name+"="+h.req.Canary)
		}
	}
	for name, value := range h.req.Case.Env {
		env = append(env, name+"="+h.expand([]string{value})[0])
	}
	return env
}
