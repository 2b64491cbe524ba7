// Package mailbox holds typed messages, the roles that may send them, and the validation of rulings.
//
// A message's role comes from the path that issued it, never from its content. The package decides only; it does not
// know the time, the store or any process.
package mailbox
