// Package company plays in a network as companies have them: the host's resolver knows no
// outside name, the only way out is a proxy that decides by name and wants a login, and
// servers have certificates of a private authority. Real package managers and clients
// reach what policy allows, without a setting inside; what must not happen has a control
// that shows that it could.
package company
