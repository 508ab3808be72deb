package phantom

import "strings"

// The names, in small letters.
var (
	// whole are whole names.
	whole = []string{
		".npmrc", ".yarnrc.yml", ".netrc", "_netrc", ".pgpass", "pgpass.conf", ".pypirc", ".htpasswd", ".git-credentials", ".my.cnf",
		".boto", ".s3cfg", ".dockercfg", ".vault-token", ".secrets", ".dev.vars", ".terraformrc", "kubeconfig", "local.settings.json",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
	}
	// paths are whole names in a directory of that name.
	paths = []string{".aws/credentials", ".docker/config.json", ".kube/config", ".gem/credentials", ".cargo/credentials", ".cargo/credentials.toml", ".composer/auth.json"}
	// ends are of keys, key stores and dumps.
	ends = []string{
		".pem", ".key", ".p8", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".ovpn", "_rsa", "_dsa", "_ecdsa", "_ed25519",
		".tfstate", ".kubeconfig", ".dump", ".pgdump", ".rdb", ".hprof", ".sql.gz", ".sql.bz2", ".sql.xz", ".sql.zst", ".sql.zip", ".sql.bak",
	}
	// copies are added to the name of a file by who keeps a copy of it.
	copies = []string{"~", ".bak", ".old", ".orig", ".save", ".backup", ".copy", ".tmp", ".swp", ".swo"}
	// examples are words in names of files that show the keys and no values.
	examples = []string{"example", "examples", "sample", "samples", "template", "tmpl", "tpl", "dist", "defaults", "schema"}
)

// byLast are lists by the last byte of what is in them: most names are done with then.
type byLast [128][]string

func index(list []string) *byLast {
	var b byLast
	for _, s := range list {
		last := s[len(s)-1]
		b[last] = append(b[last], s)
	}
	return &b
}

// of are those that may be at the end of name.
func (b *byLast) of(name string) []string {
	if name == "" || name[len(name)-1] >= 128 {
		return nil
	}
	return b[lower(name[len(name)-1])]
}

var wholeBy, pathsBy, endsBy, copiesBy = index(whole), index(paths), index(ends), index(copies)

// known reports whether a name is one of a file of secrets, or of a copy of one.
func known(base string) bool {
	for {
		if secretName(base) || strings.HasPrefix(base, ".") && secretName(base[1:]) && swap(base) {
			return true
		}
		cut := trimCopy(base)
		if cut == base {
			return false
		}
		base = cut
	}
}

func swap(base string) bool { return foldSuffix(base, ".swp") || foldSuffix(base, ".swo") }

// trimCopy takes off what makes a name that of a copy; of the name that vim gives to
// its own, the dot before it too.
func trimCopy(name string) string {
	for _, c := range copiesBy.of(name) {
		if foldSuffix(name, c) && len(name) > len(c) {
			if swap(name) && strings.HasPrefix(name, ".") && !foldPrefix(name, ".env") {
				name = name[1:]
			}
			return name[:len(name)-len(c)]
		}
	}
	return name
}

func secretName(base string) bool {
	for _, w := range wholeBy.of(base) {
		if foldEqual(base, w) {
			return true
		}
	}
	for _, e := range endsBy.of(base) {
		if foldSuffix(base, e) {
			return !foldEqual(base, "debug.keystore") // every Android SDK makes this one
		}
	}
	return valueName(base) && !example(base)
}

// valueName is for files of keys and values, which have examples beside them.
func valueName(base string) bool {
	switch {
	case envName(base), foldPrefix(base, ".dev.vars."), foldSuffix(base, ".tfvars"), foldSuffix(base, ".tfvars.json"), foldContains(base, ".tfstate."):
		return true
	case foldSuffix(base, ".json"):
		return foldContains(base, "credentials") || foldPrefix(base, "client_secret") || foldPrefix(base, "service-account") ||
			foldPrefix(base, "service_account") || foldPrefix(base, "secrets.")
	case foldSuffix(base, ".yml"), foldSuffix(base, ".yaml"):
		return foldPrefix(base, "secrets.") || foldPrefix(base, "vault.") || foldPrefix(base, "vault-") || foldPrefix(base, "vault_")
	case foldSuffix(base, ".sql"):
		return foldPrefix(base, "dump") || foldSuffix(base, "dump.sql") || foldContains(base, "backup")
	}
	return foldPrefix(base, "secrets.") && (foldSuffix(base, ".toml") || foldSuffix(base, ".ini") || foldSuffix(base, ".properties"))
}

// envName: .env and what begins with it, prod.env; not .envrc, which is a program.
func envName(base string) bool {
	if foldSuffix(base, ".env") {
		return true
	}
	return foldPrefix(base, ".env") && len(base) > 4 && strings.IndexByte("._-~0123456789", base[4]) >= 0
}

// example reports whether one word of a name is that of an example.
func example(base string) bool {
	for {
		i := strings.IndexAny(base, "._-")
		word := base
		if i >= 0 {
			word = base[:i]
		}
		for _, e := range examples {
			if foldEqual(word, e) {
				return true
			}
		}
		if i < 0 {
			return false
		}
		base = base[i+1:]
	}
}

func knownPath(rel, base string) bool {
	for _, p := range pathsBy.of(rel) {
		if len(rel) > len(base) && foldSuffix(rel, p) && (len(rel) == len(p) || rel[len(rel)-len(p)-1] == '/') {
			return true
		}
	}
	return false
}

// The folds compare with a text in small letters, and make nothing.

func lower(c byte) byte {
	if isUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}

func foldEqual(s, small string) bool { return len(s) == len(small) && foldPrefix(s, small) }

func foldPrefix(s, small string) bool {
	if len(s) < len(small) {
		return false
	}
	for i := range len(small) {
		if lower(s[i]) != small[i] {
			return false
		}
	}
	return true
}

func foldSuffix(s, small string) bool {
	return len(s) >= len(small) && foldPrefix(s[len(s)-len(small):], small)
}

func foldContains(s, small string) bool {
	for i := 0; i+len(small) <= len(s); i++ {
		if foldPrefix(s[i:], small) {
			return true
		}
	}
	return false
}
