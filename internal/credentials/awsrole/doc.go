// Package awsrole gives short-lived cloud credentials to a session. It is an HTTP
// handler that speaks the container-credentials protocol of AWS: a client inside
// asks it with the phantom as its authorization, and it answers with credentials
// that it got by AssumeRole, with keys that stay on the host.
//
// Unlike everything else that the broker holds, these credentials do enter the
// sandbox: the client signs each request itself, and nothing outside could do it
// in its place. What bounds them is their life (15 minutes to an hour), the role,
// and the session policy. Keys that do not end are refused unless Static says
// that they are meant to enter.
//
// # What is left at risk
//
//   - Credentials that were handed out work until they expire, also after the
//     session and from other machines. Choose a role that may lose them.
//   - The answer of STS is believed as far as its form goes: who can answer in
//     its place, under the transport that was given, chooses the credentials.
package awsrole
