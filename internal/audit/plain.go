package audit

import (
	"regexp"
)

// plainChecks: credentials as text in files of their own.
var plainChecks = []Check{
	plainRow("AU-090", High, "Passwords of hosts lie in .netrc", "every login in it, by reading one file",
		"take the line out of {}, and: ringfence secret set NAME", `(?i)\bpassword\s+\S`, ".netrc", "_netrc"),
	plainRow("AU-091", High, "git keeps passwords as text", "every forge in it, pushes included",
		"git config --global --unset credential.helper; rm {}", `://[^/:@\s]*:[^@\s]+@`, ".git-credentials", ".config/git/credentials"),
	plainRow("AU-092", High, "A token of npm lies in .npmrc", "your packages: releases in your name",
		"use ${NPM_TOKEN} in {}, and: ringfence secret set npm --host HOST, as the line begins: //HOST/", `(?i)_(?:authToken|auth|password)\s*=\s*"?[^\s"$]{6}`, ".npmrc", ".config/npm/npmrc"),
	plainRow("AU-093", High, "A token of PyPI lies in .pypirc", "your packages: releases in your name",
		"take the password out of {} and use a keyring", `(?i)^\s*password\s*[:=]\s*[^\s$]{4}`, ".pypirc"),
	{ID: "AU-094", Severity: Medium, Title: "Logins of container registries are kept as text",
		Gets: "your images: releases in your name", Fix: `"credsStore" in {}, then docker login again`, probe: dockerLogins},
	plainRow("AU-095", High, "A key to a Kubernetes cluster lies in a file", "the cluster, with the user's rights in it",
		"use an exec credential plugin in {}", `^\s*(?:client-key-data|token|password):\s*"?[^\s"]{6}`, ".kube/config"),
	plainRow("AU-096", High, "Access keys of AWS lie in a file", "the account, with the user's rights in it, until somebody notices",
		"aws configure sso, and take the keys out of {}", `(?i)^\s*aws_secret_access_key\s*=\s*\S{16}`, ".aws/credentials", ".aws/config"),
	plainRow("AU-097", Medium, "A token of a forge lies in a file", "your repositories, as far as the token goes",
		"gh auth login --secure-storage, and take the token out of {}", `(?i)^\s*-?\s*(?:oauth_)?token:\s*"?[^\s"]{6}`, ".config/gh/hosts.yml", ".config/glab-cli/config.yml", ".config/hub"),
	plainRow("AU-098", Medium, "Google Cloud's login lies in a file", "the cloud projects, with the user's rights in them",
		"gcloud auth application-default revoke", `"(?:refresh_token|private_key)"\s*:\s*"[^"]{6}`, ".config/gcloud/application_default_credentials.json"),
	plainRow("AU-099", Medium, "A token of a package registry lies in a file", "your packages: releases in your name",
		"log out of the registry, and take the token out of {}", `(?i)(?:token|api_key|password|auth)["':]*\s*[=:>]\s*["']?[^\s"'${<]{6}`,
		".cargo/credentials.toml", ".cargo/credentials", ".gem/credentials", ".m2/settings.xml", ".gradle/gradle.properties", ".composer/auth.json", ".config/composer/auth.json", ".yarnrc.yml", ".nuget/NuGet/NuGet.Config"),
	plainRow("AU-100", Medium, "A password of a database lies in a file", "the database, with the user's rights in it",
		"take the line out of {}, and: ringfence secret set NAME", `(?i)^\s*password\s*=\s*\S{3}|^[^#\s:]+:[^:\s]*:[^:\s]*:[^:\s]*:\S{3}`, ".pgpass", ".my.cnf", ".mylogin.cnf"),
	plainRow("AU-101", High, "A token of a secret store or of infrastructure lies in a file", "what the store holds, or what the tool can build and destroy",
		"log out, and remove {}", `(?i)(?:token|secret)["']?\s*[=:]\s*["']?[^\s"']{6}|^\s*(?:hv[sb]\.|s\.)?[\w.-]{20,}\s*$`,
		".vault-token", ".terraform.d/credentials.tfrc.json", ".terraformrc", ".pulumi/credentials.json", ".doppler/.doppler.yaml"),
	plainRow("AU-102", Medium, "A token of a service lies in a file", "the service, in the user's name",
		"log out of the service, and remove the token from {}", `(?i)(?:token|secret|secret_access_key|secret_key|key|pass)["']?\s*[=:]\s*["']?[^\s"']{8}`,
		".config/rclone/rclone.conf", ".s3cfg", ".boto", ".fly/config.yml", ".config/doctl/config.yaml", ".config/hcloud/cli.toml", ".circleci/cli.yml", ".sentryclirc",
		".config/stripe/config.toml", ".config/ngrok/ngrok.yml", ".ngrok2/ngrok.yml", ".kaggle/kaggle.json", ".netlify/config.json", ".config/netlify/config.json", ".wrangler/config/default.toml"),
}

// plainRow is a check for files in which a line shows a credential.
func plainRow(id string, s Severity, title, gets, fix, sign string, paths ...string) Check {
	re := lazy(sign)
	return Check{ID: id, Severity: s, Title: title, Gets: gets, Fix: fix, probe: func(l *look) (hits []hit) {
		for _, pattern := range paths {
			for _, path := range l.glob(pattern) {
				if n := l.lineWith(path, re()); n > 0 {
					hits = append(hits, hit{path: path, line: n})
				}
			}
		}
		return hits
	}}
}

// lineWith is the first line of a file that an expression fits, 0 if there is none.
func (w *World) lineWith(path string, re *regexp.Regexp) (at int) {
	w.lines(path, maxSettings, func(n int, line string) bool {
		if re.MatchString(line) {
			at = n
		}
		return at == 0
	})
	return at
}

func dockerLogins(l *look) (hits []hit) {
	for _, d := range l.all(l.home(".docker/config.json"), l.config("containers/auth.json")) {
		for _, a := range d.root.All("auths", "*", "auth") {
			if base64Login(a.Str()) {
				hits = append(hits, hit{path: d.path, line: a.Line})
				break
			}
		}
	}
	return hits
}
