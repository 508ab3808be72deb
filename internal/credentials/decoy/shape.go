package decoy

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"ringfence.dev/ringfence/internal/leakscan"
)

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	base32  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	base64s = letters + "+/"
)

// text is n characters of an alphabet by chance.
func text(chance *rand.ChaCha8, n int, alphabet string) string {
	r := rand.New(chance)
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func (s *Set) add(name, data string, secrets ...string) {
	if data != "" {
		s.data[name] = []byte(data)
	}
	for _, secret := range secrets {
		s.needles = append(s.needles, leakscan.Named{Name: name, Secret: secret})
	}
}

// The id is searched for as well: it is all of the key that a signed request shows.
func awsKey(s *Set, chance *rand.ChaCha8) {
	id, secret := "AKIA"+text(chance, 16, base32), text(chance, 40, base64s)
	s.add(AWSKey, fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", id, secret), id, secret)
}

func gitHubToken(s *Set, chance *rand.ChaCha8) {
	token := "ghp_" + text(chance, 36, letters)
	s.add(GitHubToken, token+"\n", token)
}

func envFile(s *Set, chance *rand.ChaCha8) {
	password, key := text(chance, 28, letters), text(chance, 32, letters)
	s.add(EnvFile, fmt.Sprintf("NODE_ENV=production\nDATABASE_URL=postgres://app:%s@db.internal:5432/app\nSTRIPE_SECRET_KEY=sk_live_%s\n", password, key), password, key)
}

func variable(s *Set, chance *rand.ChaCha8) {
	s.value = "dbt_" + text(chance, 40, letters)
	s.add(InEnv, "", s.value)
}

// Where in a key file the seed begins, in bytes and in characters of its base64 that
// hold nothing else. The latter all lie in one line.
const (
	seedAt     = 161
	seedText   = (seedAt*8 + 5) / 6
	seedEnd    = (seedAt + ed25519.SeedSize) * 8 / 6
	lineLength = 70
)

// sshKey is a whole and proper key, which no host was ever told of. What is searched
// for is the base64 of its seed.
func sshKey(s *Set, chance *rand.ChaCha8) {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = chance.Read(seed) // never fails
	body := base64.StdEncoding.EncodeToString(keyFile(ed25519.NewKeyFromSeed(seed), uint32(chance.Uint64())))
	var b strings.Builder
	b.WriteString("-----BEGIN OPENSSH PRIVATE KEY-----\n")
	for rest := body; rest != ""; {
		n := min(lineLength, len(rest))
		b.WriteString(rest[:n] + "\n")
		rest = rest[n:]
	}
	b.WriteString("-----END OPENSSH PRIVATE KEY-----\n")
	s.add(SSHKey, b.String(), body[seedText:seedEnd])
}

// keyFile is what OpenSSH's PROTOCOL.key describes, without a passphrase.
func keyFile(key ed25519.PrivateKey, check uint32) []byte {
	const kind = "ssh-ed25519"
	public := string(key.Public().(ed25519.PublicKey))
	number := func(b []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(b, n) }
	words := func(b []byte, all ...string) []byte {
		for _, w := range all {
			b = append(number(b, uint32(len(w))), w...)
		}
		return b
	}
	private := words(number(number(nil, check), check), kind, public, string(key), "deploy@prod")
	for i := byte(1); len(private)%8 != 0; i++ {
		private = append(private, i)
	}
	b := words([]byte("openssh-key-v1\x00"), "none", "none", "")
	return words(number(b, 1), string(words(nil, kind, public)), string(private))
}
