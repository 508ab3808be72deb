package serviceapi

import "strings"

// ClientEnv says which variables clients of this service need in order to use
// the phantom. Clients that refuse to begin without a credential get it; those
// that need none get none, and the broker adds it unasked.
func (s *Service) ClientEnv(phantom string) map[string]string {
	c := s.config
	env := map[string]string{}
	switch c.Kind {
	case NPM:
		// .npmrc files of projects often name the variable, and npm complains where it
		// is unset.
		env["NPM_TOKEN"] = phantom
	case PyPI:
		env["TWINE_USERNAME"], env["TWINE_PASSWORD"] = "__token__", phantom
		env["UV_PUBLISH_TOKEN"] = phantom
	case Cargo:
		// A registry with auth-required is not even asked without a token, and the
		// token is not looked for where no provider is named.
		env["CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS"] = "cargo:token"
		name := "CARGO_REGISTRY_TOKEN"
		if c.Name != "" {
			name = "CARGO_REGISTRIES_" + strings.ToUpper(strings.ReplaceAll(c.Name, "-", "_")) + "_TOKEN"
		}
		env[name] = phantom
	case GitHub:
		if strings.HasPrefix(strings.ToLower(c.Host), "api.") {
			env["GH_TOKEN"] = phantom
			break
		}
		env["GH_HOST"], env["GH_ENTERPRISE_TOKEN"] = c.Host, phantom
	case GitLab:
		env["GITLAB_HOST"], env["GITLAB_TOKEN"] = c.Host, phantom
	case Gitea:
		env["GITEA_SERVER_URL"], env["GITEA_SERVER_TOKEN"] = "https://"+c.Host+c.Base, phantom
	}
	return env
}

// ClientLines are lines of a settings file, in the form of the kind's client, that say
// the same where no variable can: npm publishes only with a token for that very
// registry.
func (s *Service) ClientLines(phantom string) []string {
	if s.config.Kind != NPM {
		return nil
	}
	return []string{"//" + s.config.Host + s.config.Base + "/:_authToken=" + phantom}
}
