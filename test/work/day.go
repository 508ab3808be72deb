package work

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

// serverOfNotes is an MCP server of the host. It knows what the agent cannot.
const serverOfNotes = `#!/bin/sh
while read -r line; do
	id=$(expr "$line" : '.*"id":\([0-9]*\)')
	case $line in
	*'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}}' ;;
	*'"tools/list"'*) result='{"tools":[{"name":"read","description":"reads a note","inputSchema":{"type":"object"}}]}' ;;
	*'"tools/call"'*) result="{\"content\":[{\"type\":\"text\",\"text\":\"$(cat "$NOTES/one")\"}]}" ;;
	*) continue ;;
	esac
	printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`

// askNotes is what an agent says to it.
const askNotes = `printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}' '{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read"}}'`

// furnish gives the person what a day needs: a repository with a remote that opens by a
// token of the host, and an MCP server with a directory of its own. It returns where the
// remote lies.
func (f *Fixture) furnish() (remote string) {
	t := f.T
	t.Helper()
	notes := filepath.Join(stage.Home, "notes-"+rand.Text())
	t.Cleanup(func() { os.RemoveAll(notes) })
	for path, text := range map[string]string{"server": serverOfNotes, "one": "remember the milk"} {
		if err := os.MkdirAll(notes, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(notes, path), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f.Policy(f.text + "\n[mcp.notes]\ncommand = [\"" + notes + "/server\"]\nread = [\"" + notes + "\"]\nenv = [\"NOTES=" + notes + "\"]\n")
	f.env = []string{"SSL_CERT_FILE=" + f.CA, "FORGE_TOKEN=" + world.Token}
	if out, err := f.Cmd("secret", "set", "forge", "--use", "github", "--host", world.Git, "--from", "env:FORGE_TOKEN").CombinedOutput(); err != nil {
		t.Fatalf("secret set: %v\n%s", err, out)
	}
	remote = filepath.Join(world.Web, rand.Text()+".git")
	t.Cleanup(func() { os.RemoveAll(remote) })
	f.must(`git init -q && git config user.name me && git config user.email me@lab.test && git add -A && git commit -qm begin
		git init -q --bare -b main --shared=0777 ` + remote + ` && git -C ` + remote + ` config http.receivepack true
		git push -q ` + remote + ` HEAD:main && git remote add origin https://` + world.Git + `/locked/` + filepath.Base(remote))
	return remote
}

// host runs a shell command in the workspace, as the person would.
func (f *Fixture) host(script string) (string, error) {
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = f.Dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.State, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (f *Fixture) must(script string) {
	f.T.Helper()
	if out, err := f.host(script); err != nil {
		f.T.Fatalf("%v\n%s", err, out)
	}
}

// does plays what an agent types in a session of its own.
func (f *Fixture) does(name, script string, flags ...string) {
	f.T.Helper()
	out, err := f.Cmd(append(append([]string{"run", "--rung", f.Rung, "--review"}, flags...), "--", "sh", "-ec", script)...).CombinedOutput()
	if err != nil {
		f.T.Fatalf("%s: %v\n%s", name, err, out)
	}
	if strings.Contains(string(out), world.Token) {
		f.T.Errorf("%s: the token is shown:\n%s", name, out)
	}
}

// person runs a command of the person's that must succeed.
func (f *Fixture) person(args ...string) {
	f.T.Helper()
	if out, err := f.Cmd(args...).CombinedOutput(); err != nil {
		f.T.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// standIn is a program in the place of Claude Code.
func (f *Fixture) standIn(text string) {
	f.T.Helper()
	path := filepath.Join(stage.Home, ".local/bin/claude")
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o755)
	}
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() { os.Remove(path) })
}
