package sshsig

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"ferrox/engine"
	"ferrox/mailbox"
)

// entry is one line of an allowed-signers file.
type entry struct {
	line       int
	principals []string
	namespaces string // pattern list; "" for every namespace
	after      time.Time
	before     time.Time
	key        ssh.PublicKey
}

// parseSigners reads an allowed-signers file. One line that cannot be used refuses all of it: who may rule is not a place
// for guesses.
func parseSigners(text string) ([]entry, error) {
	var entries []entry
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		e, err := parseEntry(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of the allowed signers: %w", n, err)
		}
		e.line = n
		entries = append(entries, e)
	}
	return entries, nil
}

func parseEntry(line string) (entry, error) {
	who, rest, err := cutPrincipals(line)
	if err != nil {
		return entry{}, err
	}
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
	if err != nil {
		return entry{}, fmt.Errorf("read the key: %w; it is PRINCIPALS [OPTIONS] KIND BASE64", err)
	}
	if err := usable(key); err != nil {
		return entry{}, err
	}
	e := entry{principals: strings.Split(who, ","), key: key}
	for _, p := range e.principals {
		if role, name := roleOf(p); role != "" && (name == "" || strings.ContainsAny(p, "*?!")) {
			return entry{}, fmt.Errorf("principal %q: a principal that may rule names one person, as operator/alice", p)
		}
	}
	for _, o := range options {
		if err := e.option(o); err != nil {
			return entry{}, err
		}
	}
	return e, nil
}

// cutPrincipals takes the first field, which may be quoted.
func cutPrincipals(line string) (who, rest string, err error) {
	if quoted, ok := strings.CutPrefix(line, `"`); ok {
		who, rest, ok = strings.Cut(quoted, `"`)
		if !ok {
			return "", "", errors.New("the quote around the principals is not closed")
		}
	} else if i := strings.IndexAny(line, " \t"); i > 0 {
		who, rest = line[:i], line[i:]
	}
	rest = strings.TrimSpace(rest)
	if who == "" || rest == "" {
		return "", "", errors.New("a line is PRINCIPALS [OPTIONS] KIND BASE64")
	}
	return who, rest, nil
}

func (e *entry) option(text string) (err error) {
	name, value, has := strings.Cut(text, "=")
	name = strings.ToLower(name)
	if has {
		if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
			return fmt.Errorf("option %s: its value is written in double quotes", name)
		}
		value = strings.ReplaceAll(value[1:len(value)-1], `\"`, `"`)
	}
	switch {
	case name == "cert-authority":
		return errors.New("cert-authority: certificates are not accepted for rulings; list the keys themselves")
	case name == "namespaces" && has && value != "":
		e.namespaces = value
	case name == "valid-after" && has:
		e.after, err = parseInstant(value)
	case name == "valid-before" && has:
		e.before, err = parseInstant(value)
	default:
		return fmt.Errorf("option %q is not known; namespaces, valid-after and valid-before are", text)
	}
	return err
}

// parseInstant reads YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, in the local time zone or, with a Z behind it, in UTC.
func parseInstant(text string) (time.Time, error) {
	digits, utc := strings.CutSuffix(text, "Z")
	zone := time.Local
	if utc {
		zone = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(digits) == len(layout) {
			if t, err := time.ParseInLocation(layout, digits, zone); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("instant %q: it is YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, with Z for UTC", text)
}

// roleOf splits a principal as role/name. Other principals, as git's, have no role and may not rule.
func roleOf(principal string) (mailbox.Role, string) {
	role, name, ok := strings.Cut(principal, "/")
	if r := mailbox.Role(role); ok && (r == mailbox.RoleOperator || r == mailbox.RoleSupervisor) {
		return r, name
	}
	return "", ""
}

// signer returns the principal of a line with the most authority, if one of them may rule.
func (e entry) signer() (found engine.Signer, ok bool) {
	for _, p := range e.principals {
		role, _ := roleOf(p)
		if role == mailbox.RoleOperator || role != "" && !ok {
			found, ok = engine.Signer{Principal: p, Role: role}, true
		}
		if role == mailbox.RoleOperator {
			break
		}
	}
	return found, ok
}

// forRulings reports whether a line's key may sign in the namespace of rulings.
func (e entry) forRulings() bool {
	return e.namespaces == "" || matchList(engine.RulingNamespace, e.namespaces)
}

// find says who a key belongs to at an instant: of several lines the one with the most authority.
func find(entries []entry, key ssh.PublicKey, at time.Time) (engine.Signer, error) {
	var who engine.Signer
	why := errors.New("it is not among the allowed signers")
	for _, e := range entries {
		if !bytes.Equal(e.key.Marshal(), key.Marshal()) {
			continue
		}
		s, err := e.at(at)
		if err != nil {
			why = err
			continue
		}
		if who.Role != mailbox.RoleOperator {
			who = s
		}
	}
	if who.Role == "" {
		return who, fmt.Errorf("key %s: %w", ssh.FingerprintSHA256(key), why)
	}
	return who, nil
}

// at says who a line's key belongs to at an instant.
func (e entry) at(now time.Time) (engine.Signer, error) {
	s, ok := e.signer()
	switch {
	case !ok:
		return s, fmt.Errorf("no principal of line %d is operator/NAME or supervisor/NAME", e.line)
	case !e.forRulings():
		return s, fmt.Errorf("line %d allows the namespaces %s only, and not %s", e.line, e.namespaces, engine.RulingNamespace)
	case !e.after.IsZero() && now.Before(e.after):
		return s, fmt.Errorf("it is not valid before %s", e.after.Format(time.RFC3339))
	case !e.before.IsZero() && now.After(e.before):
		return s, fmt.Errorf("it expired at %s", e.before.Format(time.RFC3339))
	}
	return s, nil
}
