package injection

import "strings"

// Files with secrets: keys, which nobody sends, and settings, which every other page names.
var (
	keyFiles     = []string{".ssh/id", "id_rsa", "id_ed25519", "id_ecdsa", ".aws/credentials", ".gnupg", "/.credentials", "/etc/shadow", ".pypirc", ".config/gh/hosts"}
	settingFiles = []string{".netrc", ".kube/config", "mcp.json", ".npmrc", ".aws/config"}
)

// pathMeaning is what a path or a short address stands for, and whether it is but a file of
// settings.
func pathMeaning(p string) (is meaning, soft bool) {
	if strings.HasSuffix(p, ".pub") || strings.HasSuffix(p, ".example") || strings.HasSuffix(p, ".sample") {
		return 0, false
	}
	for _, s := range keyFiles {
		if strings.Contains(p, s) {
			return mSecretFile, false
		}
	}
	if folder := strings.TrimRight(p, "/*"); strings.HasSuffix(folder, "/.ssh") || folder == "~/.aws" {
		return mSecretFile, false
	}
	for _, s := range settingFiles {
		if strings.Contains(p, s) {
			return mSecretFile, true
		}
	}
	if p == ".env" || strings.HasSuffix(p, "/.env") {
		return mSecretFile, true
	}
	if i := strings.IndexByte(p, '/'); i > 3 && strings.IndexByte(p[1:i], '.') > 0 && p[0] != '.' && p[0] != '~' {
		return addressMeaning(p), false // evil.test/x
	}
	return 0, false
}

// addressMeaning is what an address stands for: none on this machine is a target.
func addressMeaning(a string) meaning {
	host := a
	if _, rest, ok := strings.Cut(a, "://"); ok {
		host = rest
	}
	host, _, _ = strings.Cut(host, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	host, _, _ = strings.Cut(host, ":")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "127.") || host == "0.0.0.0" || host == "" || host == "host.docker.internal" {
		return 0
	}
	return mTo
}

// numeric holds for an address of four numbers, with a port or without.
func numeric(s string) bool {
	host, _, _ := strings.Cut(s, ":")
	return strings.Count(host, ".") == 3 && strings.Trim(host, "0123456789.") == "" && !strings.Contains(host, "..") && host[0] != '.'
}

// extensions are what names of files end with.
var extensions = set("md txt go py js ts jsx tsx json yml yaml toml sh env c h cc cpp rs rb java kt log cfg conf ini lock html css xml csv pem key pub zip gz tar pdf png jpg svg sql php vue swift properties example sample local bak orig tmp out bin exe")

// hostLike holds for a name that could be a host's.
func hostLike(s string) bool {
	s, _, _ = strings.Cut(s, ":")
	i := strings.LastIndexByte(s, '.')
	if i <= 0 || len(s)-i < 3 || extensions[s[i+1:]] {
		return false
	}
	return strings.Trim(s[i+1:], "abcdefghijklmnopqrstuvwxyz") == "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}
