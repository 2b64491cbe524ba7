// Command vuln looks for known vulnerabilities in code that the module in the given folder really calls.
//
// It is govulncheck with a pinned database, fetched as a Go module, so that it works where only a module proxy is
// reachable and gives the same answer tomorrow. Findings in the standard library are told and do not fail: they are
// cured by a newer Go, not by a change of the code.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/vuln/scan"
)

// database is the version of the vulnerability list. Raise it together with the dependencies.
const database = "golang.org/x/vulndb@v0.0.0-20261105234957-e22db6528018"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: vuln FOLDER")
		os.Exit(2)
	}
	if err := check(context.Background(), os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "vuln:", err)
		os.Exit(1)
	}
}

// finding is one way from the module's code to a vulnerable symbol; the symbol comes first in the trace.
type finding struct {
	OSV   string `json:"osv"`
	Fixed string `json:"fixed_version"`
	Trace []struct {
		Module   string `json:"module"`
		Function string `json:"function"`
	} `json:"trace"`
}

// called reports whether the code reaches the symbol, beyond merely requiring its module.
func (f finding) called() bool { return len(f.Trace) > 0 && f.Trace[0].Function != "" }

func (f finding) String() string {
	return fmt.Sprintf("%s in %s %s, fixed in %s", f.OSV, f.Trace[0].Module, f.Trace[0].Function, f.Fixed)
}

func check(ctx context.Context, folder string, w io.Writer) error {
	list, err := download(ctx)
	if err != nil {
		return err
	}
	found, err := run(ctx, folder, list)
	if err != nil {
		return err
	}

	var ours []string
	for _, f := range found {
		if f.Trace[0].Module == "stdlib" {
			fmt.Fprintln(w, "note: a newer Go cures", f)
			continue
		}
		ours = append(ours, f.String())
	}
	if len(ours) > 0 {
		return fmt.Errorf("vulnerable code is called; raise the module:\n  %s", strings.Join(ours, "\n  "))
	}
	return nil
}

// download fetches the database and returns its address.
func download(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", database).Output()
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w; is the Go module proxy reachable?", database, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("reading where %s is: %w", database, err)
	}
	return "file://" + filepath.ToSlash(filepath.Join(module.Dir, "data", "osv")), nil
}

// run returns the findings that the code calls, one for each vulnerability.
func run(ctx context.Context, folder, list string) ([]finding, error) {
	var out, fault bytes.Buffer
	c := scan.Command(ctx, "-C", folder, "-db", list, "-format", "json", "./...")
	c.Stdout, c.Stderr = &out, &fault
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("scanning %s: %w", folder, err)
	}
	if err := c.Wait(); err != nil {
		return nil, fmt.Errorf("scanning %s: %w\n%s", folder, err, fault.Bytes())
	}
	return decode(&out)
}

func decode(r io.Reader) ([]finding, error) {
	var found []finding
	for d := json.NewDecoder(r); ; {
		var message struct {
			Finding *finding `json:"finding"`
		}
		switch err := d.Decode(&message); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("reading findings: %w", err)
		}
		f := message.Finding
		if f == nil || !f.called() || slices.ContainsFunc(found, func(o finding) bool { return o.OSV == f.OSV }) {
			continue
		}
		found = append(found, *f)
	}
}
