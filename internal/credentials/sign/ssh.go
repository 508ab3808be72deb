package sign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// signSSH calls ssh-keygen in the words of git: programs that stand in for it
// know these and no others. The namespace is git's own, so that the signature is
// worth nothing for a login.
func (e *endpoint) signSSH(ctx context.Context, payload []byte) (signature, error) {
	dir, err := os.MkdirTemp(e.Runtime, "sign-")
	if err != nil {
		return signature{}, err
	}
	defer os.RemoveAll(dir)
	argv := []string{e.Key.Program, "-Y", "sign", "-n", "git", "-f"}
	name, err := e.sshKey(ctx)
	if err != nil {
		return signature{}, err
	}
	if key, ok := literal(name); ok {
		file := filepath.Join(dir, "key.pub")
		if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
			return signature{}, err
		}
		argv = append(argv, file, "-U") // its other half is in the agent
	} else {
		argv = append(argv, e.expand(name))
	}
	buffer := filepath.Join(dir, "object")
	if err := os.WriteFile(buffer, payload, 0o600); err != nil {
		return signature{}, err
	}
	if _, _, err := e.run(ctx, nil, append(argv, buffer)...); err != nil {
		return signature{}, err
	}
	f, err := os.Open(buffer + ".sig")
	if err != nil {
		return signature{}, err
	}
	defer f.Close()
	armour, err := io.ReadAll(io.LimitReader(f, maxOutput))
	if err != nil {
		return signature{}, err
	}
	key, err := sshFingerprint(armour)
	return signature{armour: string(armour), key: key}, err
}

// sshKey returns the key to use: a path, or a public key spelled out.
func (e *endpoint) sshKey(ctx context.Context) (string, error) {
	if e.Key.Name != "" {
		return e.Key.Name, nil
	}
	argv, err := splitCommand(e.Key.DefaultCommand)
	if err != nil {
		return "", err
	}
	out, _, err := e.run(ctx, nil, argv...)
	if err != nil {
		return "", fmt.Errorf("gpg.ssh.defaultKeyCommand: %w", err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	key, ok := literal(strings.TrimSuffix(line, "\r"))
	if !ok || checkPublic(key) != nil {
		return "", errors.New("gpg.ssh.defaultKeyCommand printed no public key")
	}
	return "key::" + key, nil
}

// sshFingerprint reads an SSH signature up to its namespace, and names the key
// that made it.
func sshFingerprint(armour []byte) (string, error) {
	bad := errors.New("what came out is not an SSH signature in the namespace git")
	text, ok := bytes.CutPrefix(armour, []byte("-----BEGIN SSH SIGNATURE-----\n"))
	text, ok2 := bytes.CutSuffix(text, []byte("-----END SSH SIGNATURE-----\n"))
	if !ok || !ok2 {
		return "", bad
	}
	raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		return "", bad
	}
	raw, ok = bytes.CutPrefix(raw, []byte("SSHSIG\x00\x00\x00\x01"))
	key, raw, ok2 := sshString(raw)
	namespace, _, ok3 := sshString(raw)
	if !ok || !ok2 || !ok3 || string(namespace) != "git" {
		return "", bad
	}
	sum := sha256.Sum256(key)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:]), nil
}

func sshString(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 4 || uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)-4) {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(b)
	return b[4 : 4+n], b[4+n:], true
}
