package phantom

import "strings"

// words are values that programs compare with, and parts of names. Nobody keeps one
// for a secret, and who does has none.
var words = set(`
true false yes no on off null none nil enabled disabled enable disable auto default always never optional required any all
development production staging testing test tests dev prod stage local live demo debug info warn warning error fatal trace
notice critical verbose silent quiet sandbox preview release ci qa uat
app api web www db database server client service services worker admin root user users guest public private main master
primary replica backend frontend core common shared internal external proxy gateway queue cache session sessions cookie file
files storage store disk memory array log logs stack single daily sync async mail mailer smtp smtps sendmail ses imap pop
http https tcp udp tls ssl ws wss ftp sftp ssh git unix socket tcp4 tcp6 starttls plain login basic bearer oauth oauth2 oidc saml jwt ldap
postgres postgresql mysql mariadb sqlite sqlite3 mongodb mongo redis rediss memcached rabbitmq amqp amqps kafka nats elasticsearch
opensearch mssql sqlserver oracle cassandra dynamodb s3 gcs azure aws gcp minio pgsql asyncpg psycopg psycopg2 pymysql mysql2 srv jdbc
localhost nginx apache node python ruby java golang rust php django rails laravel express flask fastapi next nuxt vite webpack
string number bool boolean int integer float object list map json yaml xml csv text html utf8 utf ascii base64 hex sha1 sha256
sha384 sha512 md5 hs256 hs384 hs512 rs256 rs384 rs512 es256 es384 es512 eddsa bcrypt argon2 argon2id scrypt pbkdf2 aes rsa
lax strict same origin self cross gzip brotli deflate utc gmt cet est pst us eu ap sa ca me af cn east west north south central northeast
southeast northwest southwest en de fr es it pt nl ja zh ko ru v1 v2 v3 v4 account project resource managed data module aws_instance
googleapis google github gitlab amazonaws example com org net io test invalid home src lib bin etc var tmp opt usr run key id
npm pnpm css js ts mjs cjs png jpg svg sql txt md yml env cdn dns vpc rds sns sqs ecs eks gke k8s pypi crt pem tls1 http2
__token__ x-access-token x-token-auth _json_key token authorized_user service_account external_account certificate opaque secret config apps cluster context kubernetes`)

// secretWords in the name of a key say that its value is one; weakWords say it for
// the key itself and not for what is below it.
var (
	secretWords = set(`password passwords passwd pass pwd passphrase passcode secret secrets token tokens apikey apikeys credential credentials
		creds cred pin otp totp mnemonic seed bearer jwt pepper salt hash cookie webhook license authtoken pat`)
	weakWords = set(`key keys auth authorization private signature signing session access dsn cert encryption`)
)

// qualifiers end the name of a key that tells about a secret and holds none.
var qualifiers = set(`ttl expiry expires expiration expire expired lifetime age days hours minutes seconds ms timeout length size count
	limit rounds cost min max iterations retries interval port host hostname method methods driver type hasher algorithm algo alg mode
	provider backend store name names domain url uri endpoint path file dir directory enabled required disabled version format header
	strategy policy region location scope scopes audience issuer level secure samesite`)

func set(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

// key is the name that a value goes by.
type key struct {
	name   string
	secret bool // the name says so
	below  bool // and so for all that is below it
	strict bool // all strings are replaced
}

// child is the key of this name below k.
func (k key) child(name string) key {
	c := key{name: name, strict: k.strict, below: k.below}
	parts := split(name)
	if len(parts) == 0 {
		c.secret = k.secret
		return c
	}
	told := qualifiers[parts[len(parts)-1]] && len(parts) > 1
	strong, weak := secretPart(parts)
	c.secret = !told && (strong || weak) || k.below && !qualifiers[parts[len(parts)-1]]
	c.below = c.below || strong && !told
	return c
}

func secretPart(parts []string) (strong, weak bool) {
	for _, p := range parts {
		strong = strong || secretWords[p] || len(p) > 5 && (strings.Contains(p, "passw") || strings.Contains(p, "secret") ||
			strings.Contains(p, "token") || strings.Contains(p, "apikey") || strings.Contains(p, "credential"))
		weak = weak || weakWords[p]
	}
	return strong, weak
}

// split parts a name into its words, in small letters: at what is no letter and
// before a capital that follows a small letter.
func split(name string) []string {
	var parts []string
	from := 0
	cut := func(to, next int) {
		if to > from {
			parts = append(parts, strings.ToLower(name[from:to]))
		}
		from = next
	}
	for i := range len(name) {
		switch {
		case strings.IndexByte(alnums, name[i]) < 0:
			cut(i, i+1)
		case i > from && isUpper(name[i]) && !isUpper(name[i-1]):
			cut(i, i)
		case i > from && i+1 < len(name) && isUpper(name[i]) && isLower(name[i+1]):
			cut(i, i)
		}
	}
	cut(len(name), len(name))
	return parts
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

const maxName = 200

// proper reports whether a name can be shown as a key: of the characters of names,
// and not a token itself.
func proper(name string) bool {
	return name != "" && len(name) <= maxName && allIn(name, alnums+"_.-/@:$ ") && !random(name)
}

// random reports whether a text looks drawn: long, of letters and digits that change
// at every second place.
func random(s string) bool {
	if knownPrefix(s) != "" || isUUID(s) {
		return true
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune("_.-/@:$ ", r) }) {
		if len(word) < 16 {
			continue
		}
		runs := 1
		for i := 1; i < len(word); i++ {
			if class(word[i]) != class(word[i-1]) && !(isLower(word[i]) && isUpper(word[i-1])) {
				runs++
			}
		}
		if len(word) > 40 || runs*5 > len(word)*2 {
			return true
		}
	}
	return false
}

func class(c byte) int {
	switch {
	case isUpper(c):
		return 1
	case isLower(c):
		return 2
	case isDigit(c):
		return 3
	}
	return 0
}
