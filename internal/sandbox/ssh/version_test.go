package ssh

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	for said, ok := range map[string]bool{
		"OpenSSH_9.2p1 Debian-2+deb12u3, OpenSSL 3.0.14 4 Jun 2024\n": true, "OpenSSH_8.7p1, OpenSSL 3.0.1\n": true, "OpenSSH_10.0p2\n": true, "a word\nOpenSSH_9.9p1\n": true, "OpenSSH_for_Windows_9.5p1\n": true,
		"OpenSSH_8.4p1 Debian-5+deb11u3\n": false, "OpenSSH_8.2p1 Ubuntu-4\n": false, "OpenSSH_7.9p1": false, "Dropbear v2022.83": false, "": false, "OpenSSH_9": false, "OpenSSH_\x1b[2J": false,
	} {
		if err := newEnough(said); (err == nil) != ok {
			t.Errorf("%q: %v", said, err)
		}
	}
	program, err := exec.LookPath("ssh")
	if err != nil {
		t.Fatal("no ssh here: run `make tools`")
	}
	if err := recent(context.Background(), program); err != nil {
		t.Error(err)
	}
}

// TestOldClient: one that would stumble over our options is refused before it dials.
func TestOldClient(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "ssh")
	if err := os.WriteFile(old, []byte("#!/bin/sh\n[ \"$1\" = -V ] || touch "+dir+"/dialled\necho OpenSSH_8.4p1 >&2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := place{host: "box", find: func(string) (string, error) { return old, nil }}.dial(context.Background())
	if err == nil || !strings.Contains(err.Error(), "8.4") {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/dialled"); err == nil {
		t.Error("it was started all the same")
	}
}
