package phantom

import (
	"strings"
)

// format makes the phantom of a text.
type format func(m *masker, text string) (string, Kind)

// formatOf is how the file at rel is written, going by its name. It is nil for what is
// never shown.
func formatOf(rel string) format {
	name := strings.ToLower(rel)
	for {
		cut := trimCopy(name)
		if cut == name {
			break
		}
		name = cut
	}
	base := name[strings.LastIndexByte(name, '/')+1:]
	for path, f := range byPath {
		if hasPath(name, path) {
			return f
		}
	}
	switch {
	case strings.HasPrefix(base, "kubeconfig"):
		return (*masker).yamlFile
	case envName(base), strings.HasPrefix(base, ".dev.vars"):
		return (*masker).dotenvFile
	case strings.Contains(base, ".tfstate"):
		return (*masker).stateFile
	}
	if dot := strings.LastIndexByte(base, '.'); dot >= 0 {
		if f, ok := byExtension[base[dot+1:]]; ok {
			return f
		}
	}
	return (*masker).anyFile
}

// byPath is asked before byExtension. No file has two of these.
var byPath = map[string]format{
	".npmrc": (*masker).npmrcFile, ".yarnrc.yml": (*masker).yarnFile, ".netrc": (*masker).netrcFile, "_netrc": (*masker).netrcFile,
	".pgpass": (*masker).pgpassFile, "pgpass.conf": (*masker).pgpassFile, ".htpasswd": (*masker).htpasswdFile, ".git-credentials": (*masker).urlsFile,
	".pypirc": (*masker).iniFile, ".my.cnf": (*masker).iniFile, ".boto": (*masker).iniFile, ".s3cfg": (*masker).iniFile, ".dockercfg": (*masker).jsonFile,
	".secrets": (*masker).dotenvFile, ".terraformrc": (*masker).hclFile, ".aws/credentials": (*masker).iniFile, ".gem/credentials": (*masker).iniFile,
	".kube/config": (*masker).yamlFile, ".cargo/credentials": (*masker).hclFile,
}

var byExtension = map[string]format{
	"json": (*masker).jsonFile, "tfstate": (*masker).stateFile,
	"yml": (*masker).yamlFile, "yaml": (*masker).yamlFile, "kubeconfig": (*masker).yamlFile,
	"ini": (*masker).iniFile, "cfg": (*masker).iniFile, "conf": (*masker).iniFile, "cnf": (*masker).iniFile, "properties": (*masker).iniFile,
	"toml": (*masker).hclFile, "tfvars": (*masker).hclFile, "hcl": (*masker).hclFile,
	"pem": (*masker).pemFile, "p8": (*masker).pemFile, "key": (*masker).keyFile,
	"sql": (*masker).sqlFile, "ovpn": nil, "ppk": nil, "xml": nil, "php": nil, "py": nil, "rb": nil, "js": nil, "ts": nil, "mjs": nil, "cjs": nil, "go": nil,
	"java": nil, "kt": nil, "rs": nil, "sh": nil, "html": nil,
	"p12": nil, "pfx": nil, "jks": nil, "keystore": nil, "kdbx": nil, "dump": nil, "rdb": nil, "hprof": nil,
	"gz": nil, "bz2": nil, "xz": nil, "zst": nil, "zip": nil,
}

// hasPath reports whether rel is tail, or ends with it after a slash.
func hasPath(rel, tail string) bool {
	return strings.HasSuffix(rel, tail) && (len(rel) == len(tail) || rel[len(rel)-len(tail)-1] == '/')
}

var assigned = lazily(`(?m)^[ \t]*(export[ \t]+)?[A-Za-z_][A-Za-z0-9_.-]*[ \t]*=`)

// anyFile is for names that say nothing of a format. The content has to.
func (m *masker) anyFile(s string) (string, Kind) {
	bare := strings.TrimSpace(s)
	switch {
	case bare == "":
		return s, None
	case pemHeader().MatchString(s):
		return m.pemFile(s)
	case bare[0] == '{' || bare[0] == '[' && strings.HasSuffix(bare, "]"):
		return m.jsonFile(s)
	case bare[0] == '[':
		return m.iniFile(s)
	case !strings.ContainsAny(bare, " \t\r\n"):
		return m.token(bare) + s[strings.Index(s, bare)+len(bare):], Values
	case assigned().MatchString(s):
		return m.dotenvFile(s)
	}
	return m.eachLine(s, m.token), Values
}

// token is a line that is nothing but a secret.
func (m *masker) token(s string) string {
	k := key{name: "token", secret: true}
	if strings.Contains(s, "://") || numberForm().MatchString(s) || isJWT(s) {
		return m.value(k, s)
	}
	return m.opaque(k, s)
}

var sqlData = lazily(`(?i)insert\s+into|\bcopy\s|replace\s+into|identified\s+by|password|secret|token`)

// sqlFile: a schema stays, rows are not shown.
func (m *masker) sqlFile(s string) (string, Kind) {
	if sqlData().MatchString(s) {
		return "", Empty
	}
	return s, None
}
