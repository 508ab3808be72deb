package login

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
)

// Path is where an agent's client keeps its login. A relative value in the
// environment counts as unset.
func Path(a Agent, env func(string) string, home string) string {
	under := func(variable, fallback, rest string) string {
		if dir := env(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, rest)
		}
		return filepath.Join(home, fallback, rest)
	}
	switch a {
	case Claude:
		return under("CLAUDE_CONFIG_DIR", ".claude", ".credentials.json")
	case Codex:
		return under("CODEX_HOME", ".codex", "auth.json")
	case Gemini:
		return under("GEMINI_CLI_HOME", "", ".gemini/oauth_creds.json")
	case Opencode:
		return under("XDG_DATA_HOME", ".local/share", "opencode/auth.json")
	}
	return ""
}

// ownName names our files for a login. Two files of one agent are two logins.
func ownName(c Config) string {
	return string(c.Agent) + "-" + fingerprint(c.Provider + "\x00" + c.Path)[:16]
}

// fingerprint stands for a secret where one is remembered and must not be kept.
func fingerprint(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
