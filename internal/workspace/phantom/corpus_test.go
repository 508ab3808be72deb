package phantom

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"
)

// sample is a file as people have them. What is between ⟦ and ⟧ is secret; the marks
// are not part of it.
type sample struct{ rel, text string }

var seed = []byte("0123456789abcdef0123456789abcdef")

// corpus is made up. No host, name or key in it is real.
var corpus = []sample{
	{".env", `# Settings of the shop
NODE_ENV=development
PORT=3000
DEBUG=true
APP_NAME=shop
LOG_LEVEL=debug
DATABASE_URL=postgres://shop:⟦p4ss/w0rd-of-shop⟧@db.shop.test:5432/shop_dev?sslmode=disable
REDIS_URL=redis://:⟦r3disSecretValue⟧@localhost:6379/0
export STRIPE_SECRET_KEY=sk_live_⟦51HabcdefGHIJKLmnopQRSTuv⟧
STRIPE_PUBLISHABLE_KEY='pk_live_⟦Vb2Nm8Kq4Zx7Lw1Rt5Yp9Gh3⟧'
OPENAI_API_KEY="sk-proj-⟦aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW⟧" # of the team
AWS_ACCESS_KEY_ID=AKIA⟦QHTKWZBN7RXDPLEW⟧
AWS_SECRET_ACCESS_KEY=⟦qT7bYxLdNwVKe0H4RGZUc1mJsPkaQoXWFIyvBTDe⟧
AWS_REGION=eu-central-1
SECRET_KEY_BASE=⟦3f2a9c4b5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7081⟧
#OLD_TOKEN=ghp_⟦0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX⟧
# API_SECRET="⟦commented out s3cret⟧"
# the old password: ⟦br0k3n&Tea7pot⟧
SMTP_PASSWORD='⟦it is $ecret "here"⟧'
WITH_HASH="⟦before#after#secret⟧"
EMPTY=
SESSION_DRIVER=redis
TOKEN_TTL=3600
PIN=⟦48151623⟧
MAIL_FROM=⟦jane.doe.private⟧@mail.shop.test
SENTRY_DSN=https://⟦0123456789abcdef0123456789abcdef⟧@sentry.shop.test/42
WEBHOOK=https://hooks.chat.test/services/⟦T0A1B2C3D⟧/⟦B9Z8Y7X6W⟧/⟦x1Y2z3A4b5C6d7E8f9G0h1I2⟧
TLS_KEY_PATH=./certs/server.key
JWT=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOi⟦JqYW5lLXJvZS1wcml2YXRlLTk5Iiwicm9s⟧.⟦Rk3vWq8ZtYb1NcXm5LpGd7HsJf2UaEo9_TiKvBrQ4nM⟧
MSSQL=Server=tcp:db.shop.test,1433;Database=shop;User Id=shopuser;Password=⟦Sup3r$ecretPw⟧;Encrypt=true
FIREBASE={"apiKey":"AIza⟦SyD0123456789abcdefghijklmnopqrstu⟧","retries":3}
ALIAS=${DATABASE_URL}
MULTI="⟦first line of it
second line of it⟧
"
LAST=⟦"quoted"'and'concatenated⟧
`},
	{"config/prod.env", "A=⟦valueNumber1xyz⟧\r\nB='⟦valueNumber2xyz⟧'\r\n\r\n# done\r\n"},
	{".env.local", "KEY: ⟦yaml5tyleValue⟧\nnot an assignment ⟦l00seSecretHere⟧\n  INDENTED = ⟦sp4cedSecretHere⟧\nBACK=`⟦b4ckt1ckSecret⟧`\nCONT=⟦abcdef123456⟧\\\n⟦ghijkl789012⟧\n"},
	{"credentials.json", `{
  "type": "service_account",
  "project_id": "⟦shop-prod-118822⟧",
  "private_key_id": "⟦1f2e3d4c5b6a79881f2e3d4c5b6a79881f2e3d4c⟧",
  "client_email": "⟦robot-7f3a⟧@build.iam.cloud.test",
  "client_id": "⟦118822334455667788990⟧",
  "auth_uri": "https://accounts.cloud.test/o/oauth2/auth",
  "nested": {"tokens": ["⟦tok-aaaa-1111-bbbb⟧", "⟦correcthorse⟧"], "enabled": true, "n": 7, "x": null},
  "⟦ghp_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX⟧": "me"
}
`},
	{"infra/terraform.tfstate", `{
  "version": 4, "terraform_version": "1.9.5", "serial": 12, "lineage": "⟦8d1f3b52-9c04-4e1a-b7a4-0f6d2c9e7a55⟧",
  "outputs": {"db_password": {"value": "⟦plainword⟧", "type": "string", "sensitive": true}},
  "resources": [{"mode": "managed", "type": "aws_db_instance", "name": "main", "provider": "provider[\"registry.terraform.test/hashicorp/aws\"]",
    "instances": [{"schema_version": 2, "attributes": {"address": "⟦db.shop.test⟧", "password": "⟦hunter2hunter2⟧", "name": "⟦production⟧", "port": 5432,
      "tags": {"Name": "⟦shopdatabase⟧"}, "arn": "⟦arn:aws:rds:eu-central-1:123456789012:db:shop⟧"}, "private": "⟦eyJzY2hlbWFfdmVyc2lvbiI6IjEifQ==⟧"}]}]
}
`},
	{"secrets.yml", `# Of the deployment
default: &default
  adapter: postgresql
  pool: 5
  host: db.shop.test
production:
  <<: *default
  password: ⟦pr0duct10nPassw0rd⟧
  quoted: "⟦qu0ted value: with # and \" in it⟧"   # why
  single: '⟦it''s s1ngle qu0ted⟧'
  list:
    - ⟦l1stSecretNumberOne⟧
    - name: web
      token: glpat-⟦xYz123AbC456dEf789Gh⟧
  flow: {user: admin, password: ⟦fl0wPassw0rdHere⟧, ports: [80, 443]}
  long: [⟦aaaa1111bbbb2222⟧,
    "⟦cccc3333dddd4444⟧"]
  block: |
    ⟦bl0ck line one here⟧
    ⟦bl0ck line two here⟧
  folded: >-
    ⟦f0lded text goes on⟧

  plain: ⟦multi1ine pl4in scalar⟧
    ⟦that goes on here⟧
  secrets:
    mailer: ⟦correcthorse⟧
  # old: ⟦0ldCommentedSecret⟧
  enabled: yes
  number: 12
  big: ⟦1234567890123⟧
  url: amqp://worker:⟦rabb1tPassw0rd⟧@mq.shop.test:5672/vhost
`},
	{"k8s/vault.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: shop\ntype: Opaque\ndata:\n  password: ⟦cDRzc3cwcmQtb2Ytc2hvcA==⟧\n  mode: ⟦c2VjcmV0bW9kZQ==⟧\n"},
	{".npmrc", "registry=https://npm.shop.test/\n//npm.shop.test/:_authToken=npm_⟦0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX⟧\nalways-auth=true\n"},
	{".netrc", "machine git.shop.test login deploy password ⟦n3trcPassw0rd⟧\nmachine other.test\n  login ⟦jane.roe99⟧@mail.test\n  password ⟦correcthorse⟧\ndefault login anonymous password ⟦s0me@where.test⟧\nmacdef init\n⟦secretcommand12345⟧\n"},
	{".pgpass", "db.shop.test:5432:shop:deploy:⟦pgP4ss\\:word\\\\x⟧\n*:*:*:postgres:⟦0therPassw0rd⟧\n⟦brokenline12345⟧\n"},
	{".htpasswd", "admin:$2y$10$⟦abcdefghijklmnopqrstuv0123456789ABCDEFGHIJKLMNOPQRSTU⟧\njane:{SHA}⟦W6ph5Mm5Pz8GgiULbPgzG37mj9g=⟧\n"},
	{".git-credentials", "https://deploy:glpat-⟦xYz123AbC456dEf789Gh⟧@git.shop.test\n"},
	{".pypirc", "[distutils]\nindex-servers = shop\n\n[shop]\nrepository: https://pypi.shop.test/legacy/\nusername: __token__\npassword: pypi-⟦AgEIcHlwaS5vcmcCJDAxMjM0NTY3ODlhYmNkZWY⟧\n"},
	{".aws/credentials", "[default]\naws_access_key_id = AKIA⟦QHTKWZBN7RXDPLEW⟧\naws_secret_access_key = ⟦qT7bYxLdNwVKe/H4RGZUc/mJsPkaQoXWFIyvBTDe⟧\nregion = us-east-1\n; old = ⟦0ldValueSecret99⟧\n"},
	{".docker/config.json", `{"auths": {"docker.shop.test": {"auth": "⟦ZGVwbG95OmQwY2tlclBhc3N3MHJk⟧"}}, "credsStore": "desktop"}`},
	{"prod.tfvars", "# Variables\nregion = \"eu-west-1\"\ninstances = 3\ndb_password = \"⟦tfv4rsPassw0rd⟧\"\nkeys = [\"⟦aaaa1111bbbb2222⟧\", \"⟦cccc3333dddd4444⟧\"]\ntags = {\n  owner = \"⟦jane d0e private⟧\"\n  token = \"⟦t0kenInMapHere⟧\"\n}\nlist = [\n  \"⟦eeee5555ffff6666⟧\",\n]\ncert = <<EOT\n⟦here document s3cret⟧\nEOT\nenabled = true\n"},
	{"secrets.toml", "title = \"shop\"\n[db]\npassword = '⟦t0mlPassw0rd⟧'\nport = 5432\nlong = \"\"\"\n⟦multi line t0ml secret⟧\n\"\"\"\ninline = { user = \"admin\", pass = \"⟦inl1nePassw0rd⟧\" }\n"},
	{"master.key", "⟦0123456789abcdef0123456789abcdee⟧\n"},
	{"codes.secret", "⟦abcd-1234-efgh⟧ ⟦ijkl-5678⟧\n⟦mnop-9012-qrst⟧\n"},
	{"local.settings.json", `{"IsEncrypted": false, "Values": {"AzureWebJobsStorage": "DefaultEndpointsProtocol=https;AccountName=shopstore77;AccountKey=⟦Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4aa⟧==", "FUNCTIONS_WORKER_RUNTIME": "node"}}`},
}

// clean takes the marks off a sample and tells what was between them.
func (s sample) clean() (data string, secrets []string) {
	for _, p := range strings.Split(s.text, "⟦")[1:] {
		secret, _, _ := strings.Cut(p, "⟧")
		secrets = append(secrets, secret)
	}
	return strings.NewReplacer("⟦", "", "⟧", "").Replace(s.text), secrets
}

// mustPhantom also holds that the same goes in and out twice, and what None means.
func mustPhantom(t testing.TB, rel, data string) (string, Kind) {
	t.Helper()
	out, kind, err := Phantom(rel, []byte(data), seed)
	if err != nil {
		t.Fatal(err)
	}
	again, kind2, _ := Phantom(rel, []byte(data), seed)
	if string(out) != string(again) || kind != kind2 {
		t.Errorf("%s: not the same twice", rel)
	}
	if j := judge(rel, []byte(data)); j != kind {
		t.Errorf("%s: judged %s and is %s", rel, j, kind)
	}
	if kind == None && string(out) != data || kind == Empty && len(out) != 0 {
		t.Errorf("%s: %s is %q", rel, kind, out)
	}
	return string(out), kind
}

// realKeys are made once, for all tests.
var realKeys = sync.OnceValue(func() map[string]string {
	must := func(b []byte, err error) []byte {
		if err != nil {
			panic(err)
		}
		return b
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	must(nil, err)
	e, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	must(nil, err)
	_, d, err := ed25519.GenerateKey(rand.Reader)
	must(nil, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "shop.test"}, NotAfter: time.Now().Add(time.Hour)}
	return map[string]string{
		"rsa":       block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(r)),
		"rsa-pkcs8": block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(r))),
		"ec":        block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(e))),
		"ec-pkcs8":  block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(e))),
		"ed-pkcs8":  block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(d))),
		"cert":      block("CERTIFICATE", must(x509.CreateCertificate(rand.Reader, template, template, e.Public(), e))),
		"public":    block("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(r.Public()))),
		"kube":      base64.StdEncoding.EncodeToString([]byte(block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(e))))),
	}
})
