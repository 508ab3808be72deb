// Package sentry starts gVisor's kernel, the sentry, within the walls of a sandbox, and
// is the first process on it.
//
// PID 1 of the sandbox calls Start. It forks a stage into a further user namespace, in
// which the sandbox's user is the only one and owns nothing but its own mounts. The stage
// puts the view and an OCI bundle into a root of its own, has runsc start the sentry, and
// ends. The network namespace belongs to the user namespace around, so that nothing of
// runsc can change its rules. On the sentry, Init raises what only a privileged process
// can, and gives its rights up. Package inside goes on from there in the same process.
package sentry
