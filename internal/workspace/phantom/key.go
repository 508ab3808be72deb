package phantom

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"math/big"
	"math/rand/v2"
	"sync"
)

// keyText is a phantom key in PEM. There is one of each algorithm in a session: it
// opens nothing, so it need not differ from file to file.
func (m *maker) keyText(label, algorithm string) string {
	block := &pem.Block{Type: label}
	if m.dry {
		return string(pem.EncodeToMemory(block))
	}
	var err error
	k, err := makeKey(m.seed, algorithm)
	if err != nil {
		return ""
	}
	switch label {
	case "OPENSSH PRIVATE KEY":
		block.Bytes = openSSH(k.(ed25519.PrivateKey))
	case "RSA PRIVATE KEY":
		block.Bytes = x509.MarshalPKCS1PrivateKey(k.(*rsa.PrivateKey))
	case "EC PRIVATE KEY":
		block.Bytes, err = x509.MarshalECPrivateKey(k.(*ecdsa.PrivateKey))
	default:
		block.Bytes, err = x509.MarshalPKCS8PrivateKey(k)
	}
	if err != nil {
		return ""
	}
	return string(pem.EncodeToMemory(block))
}

func makeKey(seed []byte, algorithm string) (any, error) {
	chance := stream(seed, "key "+algorithm)
	switch algorithm {
	case "rsa":
		return rsaKeys.get(seed)
	case "ed25519":
		raw := make([]byte, ed25519.SeedSize)
		_, _ = chance.Read(raw) // never fails
		markBytes(raw)
		return ed25519.NewKeyFromSeed(raw), nil
	}
	curve := elliptic.P256()
	for _, c := range []elliptic.Curve{elliptic.P224(), elliptic.P384(), elliptic.P521()} {
		if c.Params().Name == algorithm {
			curve = c
		}
	}
	raw := make([]byte, (curve.Params().BitSize+7)/8)
	for range 64 { // a number beyond the order of the curve is no key
		_, _ = chance.Read(raw)
		raw[0] >>= uint(len(raw)*8 - curve.Params().BitSize)
		markBytes(raw)
		if k, err := ecdsa.ParseRawPrivateKey(curve, raw); err == nil {
			return k, nil
		}
	}
	return nil, errors.New("no key of the curve was found")
}

// rsaCache keeps what is slow to make, for the few sessions of one process.
type rsaCache struct {
	sync.Mutex
	keys map[[32]byte]*rsa.PrivateKey
}

var rsaKeys rsaCache

const maxKept = 8

func (c *rsaCache) get(seed []byte) (*rsa.PrivateKey, error) {
	c.Lock()
	defer c.Unlock()
	id := sha256.Sum256(seed)
	if k := c.keys[id]; k != nil {
		return k, nil
	}
	k, err := makeRSA(stream(seed, "key rsa"))
	if err != nil {
		return nil, err
	}
	if c.keys == nil || len(c.keys) >= maxKept {
		c.keys = map[[32]byte]*rsa.PrivateKey{}
	}
	c.keys[id] = k
	return k, nil
}

// makeRSA makes a key of 2048 bits. The library's own generator takes no seed.
func makeRSA(chance *rand.ChaCha8) (*rsa.PrivateKey, error) {
	const e = 65537
	one := big.NewInt(1)
	p, q := prime(chance, e), prime(chance, e)
	phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
	k := &rsa.PrivateKey{
		PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: e},
		D:         new(big.Int).ModInverse(big.NewInt(e), phi),
		Primes:    []*big.Int{p, q},
	}
	k.Precompute()
	return k, k.Validate()
}

// prime is one of 1024 bits, the two highest set, that e is no divisor of less one.
func prime(chance *rand.ChaCha8, e int64) *big.Int {
	raw := make([]byte, 128)
	_, _ = chance.Read(raw)
	raw[0] |= 0xc0
	markBytes(raw[:primeMark]) // what is searched for a prime lies behind it
	raw[127] |= 1
	p, two, rest := new(big.Int).SetBytes(raw), big.NewInt(2), new(big.Int)
	for !p.ProbablyPrime(1) || rest.Mod(p, big.NewInt(e)).Int64() == 1 {
		p.Add(p, two)
	}
	return p
}

// openSSH is the file format of OpenSSH for a key without a passphrase.
func openSSH(k ed25519.PrivateKey) []byte {
	const kind = "ssh-ed25519"
	field := func(b []byte, s string) []byte {
		return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	public := string(k[ed25519.SeedSize:])
	sum := sha256.Sum256(k)
	check := sum[:4] // twice the same: that is how the reader knows that it decrypted well
	secret := append(append([]byte{}, check...), check...)
	for _, s := range []string{kind, public, string(k), "phantom"} {
		secret = field(secret, s)
	}
	for i := byte(1); len(secret)%8 != 0; i++ {
		secret = append(secret, i)
	}
	b := []byte("openssh-key-v1\x00")
	for _, s := range []string{"none", "none", ""} {
		b = field(b, s)
	}
	b = binary.BigEndian.AppendUint32(b, 1)
	b = field(b, string(field(field(nil, kind), public)))
	return field(b, string(secret))
}
