package knownsecrets

import (
	"net/url"
	"regexp"
	"strings"
)

// addressed are the reasons of names that hold an address, whose password is the secret.
var addressed = map[string]bool{"by its name an address with a password in it": true, "package registry login": true,
	"proxy address, which may hold a password": true, "database login": true}

// NoLogin holds for a variable that is listed because of the password that may be in its
// address, and whose value is an address, or several, without one. It is for what people are
// told: such a name is refused all the same.
func NoLogin(name, value string) bool {
	e, ok := Env(name)
	if !ok || !addressed[e.What] {
		return false
	}
	proxy := strings.HasSuffix(strings.ToUpper(name), "PROXY")
	words := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '|' || r == ' ' })
	for _, w := range words {
		if !plainAddress(w, proxy) {
			return false
		}
	}
	return len(words) > 0
}

// databases are the reasons of names that hold the address of a database.
var databases = map[string]bool{"by its name an address with a password in it": true, "database login": true}

// database is the address of one, and nothing else: a scheme that is known, a host, a port
// and the name of a database. What clients read behind that may be a password.
var database = regexp.MustCompile(`^(postgres|postgresql|mysql|mariadb|redis|rediss|mongodb|amqp|amqps|cockroachdb|clickhouse)://` +
	`([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9_-]*)?$`)

// NoPassword holds for the address of a database without a password in it. Such a value may
// come inside: its name was listed for the password alone.
func NoPassword(name, value string) bool {
	e, ok := Env(name)
	return ok && databases[e.What] && len(value) < 512 && database.MatchString(value)
}

// plainAddress: a name alone in an address is a token, but for a proxy. A list of proxies has
// words and hosts in it as well.
func plainAddress(text string, proxy bool) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return proxy && !strings.Contains(text, "@")
	}
	_, password := u.User.Password()
	return !password && (u.User == nil || proxy) && u.RawQuery == "" && u.Fragment == ""
}
