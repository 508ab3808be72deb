package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Secret says where a secret is kept, and what it is good for. The value itself is
// in no policy.
type Secret struct {
	Name   string
	Source Source // of its table

	From    *Rule // where it is kept; nil means in the store of ringfence
	Command List  // argv of what prints it
	Use     *Rule // the kind of credential that is made of it; nil: none
	Hosts   List  // where the credential goes, and nowhere else; nil means the public host of the kind
	Header  *Rule // name of the header, for "header"
	User    *Rule // name of the user, for "basic" and registries
	Allow   List  // requests besides those of the kind: METHOD /PATH
	Deny    List  // requests that are refused, whatever allows them
	Publish *Flag // whether a registry may be published to
	Env     List  // variables that hold the phantom inside

	Role          *Rule // for "aws", as the rest
	TTL           *Rule
	SessionPolicy *Rule
	Region        *Rule
	Static        *Flag // hand out what is kept, although it does not end

	Off *Flag // it is not used
}

const secretSection = "secret"

const maxSecrets = 256

// secretTables is [secret.NAME]. Of a project's file there is one key: what it could say
// of a source or a host would make the user's secret its own.
var secretTables = &tables[Secret]{section: secretSection, one: "a secret", many: "secrets", most: maxSecrets, keys: secretKeys,
	pattern: patternSecret, about: "Secrets by name. Their values are never in this file.", checkName: checkSecretName,
	all:  func(p *Policy) *[]Secret { return &p.Secret },
	head: func(s *Secret) head { return head{s.Name, s.Source, &s.Off} },
	make: func(name string, src Source) Secret { return Secret{Name: name, Source: src} },
	refuse: func(name, _ string, project bool) (reason, hint string) {
		if !project {
			return "", ""
		}
		return "a project's file adds and changes no secret: it can only switch one off, by off = true",
			fmt.Sprintf("write it in your own policy, or run `ringfence secret set %s`", name)
	}}

// nameBytes are what a name of ours consists of.
const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

const (
	patternSecret = `^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`
	patternFrom   = `^(store|command|env:[A-Za-z_][A-Za-z0-9_]*|file:(/|~/).*|pass:.+|keyring:.+|secret-service:[^=,]+=[^,]+(,[^=,]+=[^,]+)*)$`
	patternTo     = `^(https?://)?[^*/:\s]+(:[0-9]{1,5})?(/[A-Za-z0-9_.~@+-]+)*/?$`
	patternHead   = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
	patternAsk    = `^(\*|[A-Z]+(,[A-Z]+)*) /[^%?#;\\\s]*$`
	patternRole   = `^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+$`
	patternTTL    = `^[0-9]+[ms]$|^1h$`
	patternRegion = `^[a-z]+(-[a-z0-9]+)+$`
)

var secretKeys = []tableKey[Secret]{
	{key: key{name: "from", form: formWord, check: checkFrom, pattern: patternFrom,
		about: "Where the secret is stored: store (the default), env:VAR, file:PATH, pass:NAME, keyring:NAME, secret-service:ATTR=VALUE[,ATTR=VALUE] or command."},
		wordOf: func(s *Secret) **Rule { return &s.From }},
	{key: key{name: "command", form: formArgs, check: checkText,
		about: "The program that prints the secret, and its arguments; no shell reads them."},
		listOf: func(s *Secret) *List { return &s.Command }},
	{key: key{name: "use", form: formWord, words: SecretUses,
		about: "The kind of credential."},
		wordOf: func(s *Secret) **Rule { return &s.Use }},
	{key: key{name: "hosts", form: formList, check: checkTo, pattern: patternTo, same: plainHome,
		about: "The only hosts that get the credential: NAME or NAME:PORT, over TLS unless you write http://. For a registry NAME/PATH limits it to that path. Without this key: the public host of the kind."},
		listOf: func(s *Secret) *List { return &s.Hosts }},
	{key: key{name: "header", form: formWord, check: checkHeader, pattern: patternHead,
		about: "The header that carries the secret, for use = \"header\"."},
		wordOf: func(s *Secret) **Rule { return &s.Header }},
	{key: key{name: "user", form: formWord, check: checkUser, pattern: `^[^:]+$`,
		about: "The user name, for use = \"basic\" and registries that want one."},
		wordOf: func(s *Secret) **Rule { return &s.User }},
	{key: key{name: "allow", form: formList, check: checkRequest, pattern: patternAsk,
		about: "Requests that are allowed besides those of the kind: METHOD /PATH; * is one part of a path, /** is everything below."},
		listOf: func(s *Secret) *List { return &s.Allow }},
	{key: key{name: "deny", form: formList, check: checkRequest, pattern: patternAsk,
		about: "Requests that are refused, even if another rule allows them."},
		listOf: func(s *Secret) *List { return &s.Deny }},
	{key: key{name: "publish", form: formFlag, about: "Whether a session may publish packages with the secret."},
		flagOf: func(s *Secret) **Flag { return &s.Publish }},
	{key: key{name: "env", form: formList, check: checkName, pattern: patternName,
		about: "Variables that hold the phantom inside."},
		listOf: func(s *Secret) *List { return &s.Env }},
	{key: key{name: "role", form: formWord, check: checkRole, pattern: patternRole,
		about: "The role to assume, for use = \"aws\"."},
		wordOf: func(s *Secret) **Rule { return &s.Role }},
	{key: key{name: "ttl", form: formWord, check: checkTTL, pattern: patternTTL,
		about: "How long the credentials of the role are valid: 15m to 1h."},
		wordOf: func(s *Secret) **Rule { return &s.TTL }},
	{key: key{name: "session-policy", form: formWord, check: checkSessionPolicy,
		about: "An AWS policy in JSON that limits the role further."},
		wordOf: func(s *Secret) **Rule { return &s.SessionPolicy }},
	{key: key{name: "region", form: formWord, check: checkRegion, pattern: patternRegion,
		about: "The AWS region to ask."},
		wordOf: func(s *Secret) **Rule { return &s.Region }},
	{key: key{name: "static", form: formFlag, about: "Whether the session gets the long-lived credentials themselves. This is a risk: the agent sees them."},
		flagOf: func(s *Secret) **Flag { return &s.Static }},
	{key: key{name: "off", form: formFlag, about: "The secret is not used. The only key that a project's file may write."},
		flagOf: func(s *Secret) **Flag { return &s.Off }},
}

// Origin parts what From says: the kind of source, and its argument.
func (s *Secret) Origin() (kind, arg string) {
	if s.From == nil {
		return "store", ""
	}
	kind, arg, _ = strings.Cut(s.From.Value, ":")
	return kind, arg
}

// Kind is the kind of credential, or "".
func (s *Secret) Kind() string {
	if s.Use == nil {
		return ""
	}
	return s.Use.Value
}

// IsOff reports whether the secret is switched off.
func (s *Secret) IsOff() bool { return s.Off != nil && s.Off.Value }

// FindSecret returns the secret of that name, or nil.
func (p *Policy) FindSecret(name string) *Secret { return secretTables.lookup(p, name) }

// SecretsOn lists the secrets that may be used: those that are not off, and that
// [broker] secrets names or leaves unbounded.
func (p *Policy) SecretsOn() []Secret {
	return slices.DeleteFunc(slices.Clone(p.Secret), func(s Secret) bool {
		return s.IsOff() || p.Broker.Secrets != nil && !p.Broker.Secrets.has(s.Name)
	})
}
