package serviceapi

var readAll = []string{"GET,HEAD /**"}

// managerDeny are the parts of repository managers (Artifactory, Nexus) that
// answer with keys and users rather than with packages.
var managerDeny = []refused{
	{"* /api/security/**", noManager},
	{"* /artifactory/api/security/**", noManager},
	{"* /access/api/**", noManager},
	{"* /service/rest/**", noManager},
	{"* /nexus/service/**", noManager},
}

const (
	noManager = "users, keys and settings of the repository manager are closed"
	noTokens  = "tokens of the registry are closed"
	noLogin   = "logging in from inside is denied: the broker holds the credential"
	noOwners  = "owners, teams and access of packages are closed"
	noDelete  = "removing what is published is denied"
)

var npmDeny = append([]refused{
	{"* /-/npm/v1/tokens/**", noTokens},
	{"* /-/npm/v1/user/**", "the profile of the user is closed"},
	{"* /-/npm/v1/hooks/**", "hooks of the registry are closed"},
	{"* /-/npm/v1/oidc/**", noTokens},
	{"* /-/user/**", noLogin},
	{"* /-/v1/login/**", noLogin},
	{"* /-/v1/done/**", noLogin},
	{"* /-/org/**", noOwners},
	{"* /-/team/**", noOwners},
	{"* /-/package/**/access/**", noOwners},
	{"* /-/package/**/collaborators/**", noOwners},
	{"* /-/package/**/trust/**", noOwners},
	{"* /**/-rev/**", noDelete},
	{"DELETE /**", noDelete},
}, managerDeny...)

// What begins with "/-/" is the registry's API, of which only these are read.
var npmRead = []string{
	"GET,HEAD /",
	"GET,HEAD /-/ping", "GET,HEAD /-/whoami", "GET,HEAD /-/all", "GET,HEAD /-/v1/search",
	"GET,HEAD /-/npm/v1/keys", "GET,HEAD /-/npm/v1/attestations/**", "GET,HEAD /-/npm/v1/attestations/{}",
	"GET,HEAD /-/package/{pkg}/dist-tags", "GET,HEAD /-/package/@*/*/dist-tags",
	"POST /-/npm/v1/security/**",
	// Packages by name, version and file; a scope is a segment of its own or
	// bound to the name by an encoded slash.
	"GET,HEAD /{pkg}", "GET,HEAD /{pkg}/*", "GET,HEAD /{pkg}/-/**",
	"GET,HEAD /@*/*", "GET,HEAD /@*/*/*", "GET,HEAD /@*/*/-/**",
	// Files as GitHub's registry hands them out: by name, version and digest.
	"GET,HEAD /download/@*/*/*/*",
}

var npmPublish = []string{
	"PUT /{pkg}", "PUT /@*/*",
	"PUT,POST /-/package/{pkg}/dist-tags/*", "PUT,POST /-/package/@*/*/dist-tags/*",
}

var pypiDeny = append([]refused{
	{"* /manage/**", "the account is closed"},
	{"* /account/**", "the account is closed"},
	{"* /_/**", noTokens},
	{"DELETE /**", noDelete},
}, managerDeny...)

var pypiPublish = []string{"POST /", "POST /legacy"}

var cargoDeny = append([]refused{
	{"* /api/v1/me/**", "the account is closed"},
	{"* /me/**", noTokens},
	{"* /api/v1/trusted_publishing/**", noTokens},
	{"PUT,DELETE,POST,PATCH /api/v1/crates/*/owners/**", noOwners},
	{"PUT,DELETE /api/v1/crates/*/*/unyank", "yanking and unyanking are denied"},
	{"DELETE /**", noDelete},
}, managerDeny...)

var cargoPublish = []string{"PUT /api/v1/crates/new"}

var mavenPublish = []string{"PUT /**"}
