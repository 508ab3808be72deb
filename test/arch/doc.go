// Package arch has no code of its own: its tests keep the house in order. They
// read the sources themselves and start no `go list`, so that the test cache sees
// every file they depend on.
package arch
