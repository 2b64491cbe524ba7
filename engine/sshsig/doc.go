// Package sshsig makes and verifies signatures in the format of `ssh-keygen -Y sign`, and reads allowed-signers files.
//
// docs/signatures.md says what is signed and what a line of the file means.
package sshsig
