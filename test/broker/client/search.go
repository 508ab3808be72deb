package main

import (
	"encoding/json"
	"os"

	"ringfence.dev/ringfence/test/broker/client/sweep"
)

// search looks for the texts whose marks are in a file, everywhere inside but in the
// programs of the system, and writes what it found to another.
func search(args []string) error {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var s sweep.Sweeper
	if err := json.Unmarshal(data, &s.Marks); err != nil {
		return err
	}
	if err := s.Processes(); err != nil {
		return err
	}
	s.Tree("/", "/proc", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32")
	if data, err = json.Marshal(s); err != nil {
		return err
	}
	return os.WriteFile(args[1], data, 0o644)
}
