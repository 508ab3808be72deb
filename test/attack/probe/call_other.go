//go:build !amd64

package main

// archCalls are calls that other architectures never had.
func archCalls() map[string][]uintptr { return nil }
