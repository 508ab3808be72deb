// Package learn tests what a session to learn from reaches, and what it does not: the
// witness of what went out is the world, its resolver and its cable.
package learn
